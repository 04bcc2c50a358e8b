// The player: hls.js on a video element, which asks the redirector again whenever it cannot go on.

const firstDelay = 250; // ms before asking again, doubled with every failure in a row
const longestDelay = 4000;
const stalledAfter = 8000; // ms without progress

// A viewer of a redirector has a better remedy than asking a silent server again: another server. So one
// quick retry, and then the error is fatal and the player goes back to the redirector.
const once = {
  default: {
    maxTimeToFirstByteMs: 5000,
    maxLoadTimeMs: 10000,
    timeoutRetry: { maxNumRetry: 0, retryDelayMs: 0, maxRetryDelayMs: 0 },
    errorRetry: { maxNumRetry: 1, retryDelayMs: 200, maxRetryDelayMs: 200 },
  },
};
const never = {
  default: {
    ...once.default,
    errorRetry: { maxNumRetry: 0, retryDelayMs: 0, maxRetryDelayMs: 0 },
  },
};

// Player reports through the functions of on:
//   onState(state)    loading, playing, waiting, paused or retrying
//   onRedirect(url)   where the viewer link led
//   onServing(url)    the URL of what was just fetched, or '' when nobody serves
//   onEvent(text)     what went wrong
// and where content steering is of interest
//   onManifest(manifest)   the steering manifest that the player got
//   onPenalty(url)         the player will leave the pathway of url alone for five minutes
export class Player {
  #video;
  #on;
  #url = '';
  #hls = null;
  #stopped = true;
  #retry = 0;
  #failures = 0;
  #progress = { at: 0, time: 0 };

  constructor(video, on) {
    this.#video = video;
    this.#on = on;
    // While the player waits to ask again, what is left in the buffer may still play. That is no news.
    const report = (state) => { if (!this.#retry && !this.#stopped) on.onState(state); };
    video.addEventListener('playing', () => report('playing'));
    video.addEventListener('waiting', () => report('waiting'));
    video.addEventListener('pause', () => report('paused'));
    setInterval(() => this.#watchProgress(), 1000);
  }

  // load plays the viewer link url, from its redirect on.
  load(url) {
    this.#url = url;
    this.#failures = 0;
    this.#begin();
  }

  // stop plays no more until the next load.
  stop() {
    this.#clear();
    this.#stopped = true;
    this.#video.onerror = null;
    this.#video.removeAttribute('src');
    this.#video.load();
    this.#on.onState('stopped');
    this.#on.onServing('');
  }

  #clear() {
    clearTimeout(this.#retry);
    this.#retry = 0;
    this.#hls?.destroy();
    this.#hls = null;
  }

  #begin() {
    this.#clear();
    this.#stopped = false;
    this.#progress = { at: performance.now(), time: this.#video.currentTime };
    this.#on.onState('loading');

    if (!window.Hls?.isSupported()) {
      this.#beginNative();
      return;
    }
    const hls = new window.Hls({
      manifestLoadPolicy: never,
      playlistLoadPolicy: once,
      fragLoadPolicy: once,
    });
    this.#hls = hls;
    const { Events } = window.Hls;
    hls.on(Events.MANIFEST_LOADED, (_, data) => {
      const url = data.networkDetails?.responseURL || data.url;
      this.#on.onRedirect(url);
      this.#on.onServing(url);
    });
    hls.on(Events.FRAG_LOADED, (_, data) => this.#on.onServing(data.frag.url));
    hls.on(Events.FRAG_BUFFERED, () => { this.#failures = 0; });
    hls.on(Events.MANIFEST_PARSED, () => this.#play());
    hls.on(Events.STEERING_MANIFEST_LOADED, (_, data) => this.#on.onManifest?.(data.steeringManifest));
    hls.on(Events.ERROR, (_, data) => {
      if (penalizes(data)) this.#on.onPenalty?.(data.frag?.url || data.context?.url || '');
      if (data.fatal && hls === this.#hls) this.#again(reason(data));
    });
    hls.loadSource(this.#url);
    hls.attachMedia(this.#video);
  }

  // beginNative is for browsers that play HLS by themselves and nothing else. They do not tell where
  // a redirect led.
  #beginNative() {
    if (!this.#video.canPlayType('application/vnd.apple.mpegurl')) {
      this.#on.onEvent('this browser plays no HLS: open the viewer link in a player such as VLC');
      return;
    }
    this.#video.onerror = () => this.#again('the video element gave up');
    this.#video.src = this.#url;
    this.#play();
  }

  #play() {
    this.#video.play().catch((error) => {
      // A load that replaces this one aborts the promise, and that is no news.
      if (error.name === 'NotAllowedError') this.#on.onEvent('the browser waits for you to press play');
    });
  }

  // again goes back to the redirector, a little later each time it does not help.
  #again(why) {
    if (this.#retry) return;
    const delay = Math.min(firstDelay * 2 ** this.#failures, longestDelay);
    this.#failures += 1;
    this.#retry = setTimeout(() => this.#begin(), delay);
    this.#on.onEvent(`${why}; asking the redirector again in ${delay / 1000} s`);
    this.#on.onState('retrying');
    this.#on.onServing('');
  }

  // watchProgress catches what raises no error: a server that accepts connections and says nothing.
  #watchProgress() {
    const { currentTime, paused } = this.#video;
    const now = performance.now();
    const idle = paused && this.#video.readyState > 0;
    if (idle || document.hidden || this.#retry || currentTime !== this.#progress.time || !this.#hls) {
      this.#progress = { at: now, time: currentTime };
    } else if (now - this.#progress.at > stalledAfter) {
      this.#again('no picture for a while');
    }
  }
}

// penalizes tells whether hls.js leaves the pathway of what failed for five minutes, whatever the manifest says (1.7.4:
// NetworkErrorAction.SendAlternateToPenaltyBox with ErrorActionFlags.MoveAllAlternatesMatchingHost, which it does not export).
function penalizes(data) {
  return data.errorAction?.action === 2 && (data.errorAction.flags & 1) !== 0;
}

// reason says in a few words what hls.js gave up on.
function reason(data) {
  const status = data.response?.code;
  if (!status && data.details.startsWith('manifest')) {
    // The browser does not tell whether the redirector or the server it named was silent.
    return `no answer behind the viewer link (${data.details})`;
  }
  if (!status) return `no answer from ${host(data)} (${data.details})`;
  let said = '';
  try {
    said = JSON.parse(data.networkDetails.responseText).reason ?? '';
  } catch {
    // No problem document, so the status has to do.
  }
  return `${host(data)} answered ${[status, said].filter(Boolean).join(' ')}`;
}

function host(data) {
  const url = data.networkDetails?.responseURL || data.frag?.url || data.context?.url || data.url;
  try {
    return new URL(url).host;
  } catch {
    return 'the server';
  }
}

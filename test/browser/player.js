// Plays ?src=URL with ?player=NAME and keeps a record, which report() promises with the next sample:
//
//   samples    [[ms since 1970, media time in s], ...], four a second
//   errors     what the player itself gave up on
//   penalties  hosts or pathways that the player says it will not use for a while
//   frames     pictures shown
//
// Nothing is caught here that the player lets fall: an exception is the page's error.
'use strict';

const bufferGoal = 4; // s: less than it takes to wait a failing server out, so that a late move is seen as a stall

const video = document.getElementById('video');
const query = new URLSearchParams(location.search);
const record = { samples: [], errors: [], penalties: [] };
const waiting = []; // for the next sample

const players = {
  'hls.js': ['node_modules/hls.js/dist/hls.min.js', (src) => {
    const hls = new Hls({ maxBufferLength: bufferGoal, maxMaxBufferLength: bufferGoal });
    hls.on(Hls.Events.ERROR, (_, { fatal, details, errorAction }) => {
      if (fatal) record.errors.push(`hls.js: ${details}`);
      const { action, flags } = errorAction ?? {};
      // NetworkErrorAction.SendAlternateToPenaltyBox with ErrorActionFlags.MoveAllAlternatesMatchingHost: its own
      // steering will leave the pathway alone for five minutes.
      if (action === 2 && flags & 1) record.penalties.push(details);
    });
    hls.loadSource(src);
    hls.attachMedia(video);
  }],
  'dash.js': ['node_modules/dashjs/dist/modern/umd/dash.all.min.js', (src) => {
    const player = dashjs.MediaPlayer().create();
    player.updateSettings({ streaming: { buffer: { bufferTimeDefault: bufferGoal, bufferTimeAtTopQuality: bufferGoal } } });
    player.on(dashjs.MediaPlayer.events.ERROR, ({ error }) => {
      // It tells of every segment that was not to be had, and has gone on to the next service location by then.
      if (error?.code !== dashjs.MediaPlayer.errors.DOWNLOAD_ERROR_ID_CONTENT_CODE) record.errors.push(`dash.js: ${error?.code} ${error?.message}`);
    });
    player.initialize(video, src, true);
  }],
  'shaka': ['node_modules/shaka-player/dist/shaka-player.compiled.js', async (src) => {
    shaka.polyfill.installAll();
    const player = new shaka.Player();
    player.addEventListener('error', ({ detail }) => record.errors.push(`shaka: ${detail.code} ${detail.message}`));
    await player.attach(video);
    player.configure({ streaming: { bufferingGoal: bufferGoal } });
    await player.load(src);
  }],
};

const [library, play] = players[query.get('player')];
const script = document.createElement('script');
script.src = library;
script.onload = () => play(query.get('src'));
document.head.append(script);

setInterval(() => {
  record.samples.push([Date.now(), video.currentTime]);
  record.frames = video.getVideoPlaybackQuality().totalVideoFrames;
  document.getElementById('state').textContent = `${query.get('player')}  ${video.currentTime.toFixed(2)} s  ${query.get('src')}`;
  for (const tell of waiting.splice(0)) tell(record);
}, 250);

function report() {
  return new Promise((tell) => waiting.push(tell));
}

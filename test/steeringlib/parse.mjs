// Reads the files named by its arguments as video.js does, and prints one JSON
// object a line: what a player finds in each.
import { readFileSync } from 'node:fs';
import { Parser } from 'm3u8-parser';
import { parse } from 'mpd-parser';

for (const file of process.argv.slice(2)) {
  const text = readFileSync(file, 'utf8');
  const found = { file, steering: '', pathways: {}, audio: {}, uris: [] };
  if (file.endsWith('.mpd')) {
    const m = parse(text, { manifestUri: 'http://steer.example.net/asset/manifest.mpd' });
    found.steering = m.contentSteering?.serverURL ?? '';
    for (const p of m.playlists) {
      const id = p.attributes.serviceLocation ?? '';
      found.pathways[id] = (found.pathways[id] ?? 0) + 1;
      found.uris.push(p.segments?.[0]?.resolvedUri ?? p.resolvedUri);
    }
  } else {
    const parser = new Parser();
    parser.push(text);
    parser.end();
    const m = parser.manifest;
    found.steering = m.contentSteering?.serverUri ?? '';
    for (const p of m.playlists) {
      const id = p.attributes['PATHWAY-ID'] ?? '';
      found.pathways[id] = (found.pathways[id] ?? 0) + 1;
      found.uris.push(p.uri);
      if (p.attributes.AUDIO !== undefined) {
        const group = m.mediaGroups.AUDIO[p.attributes.AUDIO];
        found.audio[p.attributes.AUDIO] = Object.keys(group ?? {}).length;
      }
    }
  }
  console.log(JSON.stringify(found));
}

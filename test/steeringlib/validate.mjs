// Reads steering manifests, one a line, from standard input, and prints how many
// of them isValidSteeringManifest takes. It ends with 1 and the first that it
// does not take.
import { createInterface } from 'node:readline';
import { isValidSteeringManifest } from '@svta/common-media-library/contentsteering/isValidSteeringManifest.js';

// What takes everything shows nothing.
for (const bad of [{}, { VERSION: '1', TTL: 2, 'PATHWAY-PRIORITY': ['a'] }, { VERSION: 1, TTL: 2, 'PATHWAY-PRIORITY': [] }, { VERSION: 1, TTL: 0, 'PATHWAY-PRIORITY': ['a'] }]) {
  if (isValidSteeringManifest(bad)) {
    console.error('the validator takes', JSON.stringify(bad));
    process.exit(1);
  }
}

let taken = 0;
for await (const line of createInterface({ input: process.stdin })) {
  if (!isValidSteeringManifest(JSON.parse(line))) {
    console.error(`refused after ${taken}: ${line}`);
    process.exit(1);
  }
  taken++;
}
console.log(taken);

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { openHome } from './home.ts';
import { draftOf, homeParts, removeDrafts, replaceParts } from './home-parts.ts';
import { privateFolder } from './testing/private-folder.ts';

let folder: ReturnType<typeof privateFolder>;
beforeEach(() => {
  folder = privateFolder();
});
afterEach(() => folder.remove());

const isFolder = (part: string) => ['postgres', 'secrets', 'contents'].includes(part);

/** Creates each part with its name and a word as content. */
function fill(word: string, pathOf: (part: (typeof homeParts)[number]) => string): void {
  for (const part of homeParts) {
    const path = pathOf(part);
    if (isFolder(part)) mkdirSync(path);
    writeFileSync(isFolder(part) ? join(path, 'word') : path, JSON.stringify({ dataVersion: 1, word }));
  }
}

function wordsIn(directory: string): string[] {
  return homeParts.map((part) => {
    const path = join(directory, part);
    const text = readFileSync(isFolder(part) ? join(path, 'word') : path, 'utf8');
    return (JSON.parse(text) as { word: string }).word;
  });
}

const all = (word: string) => homeParts.map(() => word);

test('the drafts take the places of the parts, which are kept aside', () => {
  fill('old', (part) => join(folder.path, part));
  fill('new', (part) => draftOf(folder.path, part));
  replaceParts(folder.path, 'aside');
  assert.deepEqual([wordsIn(folder.path), wordsIn(join(folder.path, 'aside'))], [all('new'), all('old')]);
  assert.deepEqual(readdirSync(folder.path).sort(), [...homeParts, 'aside'].sort());
});

test('a replacement that a crash stopped after any of its steps is finished by the next start', () => {
  // Two renames for each part: the old one aside, the new one in.
  for (let steps = 0; steps <= 2 * homeParts.length; steps += 1) {
    const home = join(folder.path, String(steps));
    mkdirSync(home, { mode: 0o700 });
    fill('old', (part) => join(home, part));
    fill('new', (part) => draftOf(home, part));
    writeFileSync(join(home, 'restore.json'), '{"aside":"aside"}');
    mkdirSync(join(home, 'aside'));
    for (let step = 0; step < steps; step += 1) {
      const part = homeParts[step >> 1] as (typeof homeParts)[number];
      if (step % 2 === 0) renameSync(join(home, part), join(home, 'aside', part));
      else renameSync(draftOf(home, part), join(home, part));
    }
    openHome(home).release();
    assert.deepEqual([wordsIn(home), wordsIn(join(home, 'aside'))], [all('new'), all('old')], `${steps}`);
    assert.ok(!existsSync(join(home, 'restore.json')));
  }
});

test('drafts without a plan are not used', () => {
  fill('old', (part) => join(folder.path, part));
  fill('new', (part) => draftOf(folder.path, part));
  openHome(folder.path).release();
  assert.deepEqual(wordsIn(folder.path), all('old'));
  removeDrafts(folder.path);
  assert.deepEqual(readdirSync(folder.path).sort(), [...homeParts].sort());
});

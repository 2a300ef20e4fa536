import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readPrivateFile, writePrivateFile } from './private-files.ts';

/** All that Baton keeps in its folder, besides the lock. */
export const homeParts = [
  'postgres',
  'secrets',
  'contents',
  'state.json',
  'connection.json',
  'version.json',
] as const;
export type HomePart = (typeof homeParts)[number];

/** Its presence means: the drafts are complete and belong in the places of the parts. */
const planFile = 'restore.json';

/** Where the successor of a part is prepared. */
export const draftOf = (home: string, part: HomePart) => join(home, `${part}.restoring`);

/** Whether the folder is a Baton's. */
export const hasParts = (home: string) => homeParts.some((part) => existsSync(join(home, part)));

/** Removes what a restore that was stopped left behind. */
export function removeDrafts(home: string): void {
  for (const part of homeParts) rmSync(draftOf(home, part), { recursive: true, force: true });
}

/**
 * Puts the drafts in the places of the parts, whose predecessors are kept in the folder `aside`. The plan is written
 * first: after a crash in between, the next start finishes the work.
 */
export function replaceParts(home: string, aside: string): void {
  writePrivateFile(join(home, planFile), JSON.stringify({ aside }));
  finishReplacement(home);
}

/** Finishes a replacement that has begun, if there is one. The caller has the lock of the folder. */
export function finishReplacement(home: string): void {
  const plan = readPrivateFile(join(home, planFile));
  if (plan === undefined) return;
  const { aside } = JSON.parse(plan) as { aside: string };
  for (const part of homeParts) {
    const place = join(home, part);
    if (!existsSync(draftOf(home, part))) continue;
    if (existsSync(place)) {
      mkdirSync(join(home, aside), { recursive: true, mode: 0o700 });
      renameSync(place, join(home, aside, part));
    }
    renameSync(draftOf(home, part), place);
  }
  syncFolder(home);
  rmSync(join(home, planFile));
}

function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  fsyncSync(folder);
  closeSync(folder);
}

import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readPrivateFile, writePrivateFile } from './private-files.ts';

/** The contents of Baton's folder, except for the lock. */
export const homeParts = [
  'postgres',
  'secrets',
  'contents',
  'state.json',
  'connection.json',
  'version.json',
] as const;
export type HomePart = (typeof homeParts)[number];

/** If this file exists, the drafts are complete and must replace the parts. */
const planFile = 'restore.json';

/** The path of a part's prepared replacement. */
export const draftOf = (home: string, part: HomePart) => join(home, `${part}.restoring`);

/** Whether the folder contains a Baton. */
export const hasParts = (home: string) => homeParts.some((part) => existsSync(join(home, part)));

/** Removes the drafts of an interrupted restore. */
export function removeDrafts(home: string): void {
  for (const part of homeParts) rmSync(draftOf(home, part), { recursive: true, force: true });
}

/**
 * Replaces the parts with the drafts and moves the previous parts to the folder `aside`. The plan is written first, so
 * that the next start finishes the replacement after a crash.
 */
export function replaceParts(home: string, aside: string): void {
  writePrivateFile(join(home, planFile), JSON.stringify({ aside }));
  finishReplacement(home);
}

/** Finishes an interrupted replacement, if any. The caller holds the lock of the folder. */
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

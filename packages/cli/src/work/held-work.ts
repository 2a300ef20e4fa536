import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { invocation } from '../../../../bin/invocation.mjs';
import type { Access } from '../access.ts';
import type { CliConfig } from '../config.ts';
import { PlainError } from '../plain-error.ts';
import { profilesFile } from '../profiles.ts';

/** The task that was taken on this machine, with the ids for its writes. */
export interface HeldWork {
  readonly coordinationUrl: string;
  readonly taskId: string;
  readonly publicId: string;
  readonly title: string;
  readonly sessionId: string;
  readonly claimId: string;
  readonly fencingToken: number;
  readonly runId: string;
}

function fileOf(config: CliConfig): string {
  return join(dirname(profilesFile(config)), 'work.json');
}

/** @returns undefined if no task is held at this Baton */
export function readHeld(config: CliConfig, { coordinationUrl }: Access): HeldWork | undefined {
  try {
    const held = JSON.parse(readFileSync(fileOf(config), 'utf8')) as HeldWork;
    return held.coordinationUrl === coordinationUrl ? held : undefined;
  } catch {
    return undefined;
  }
}

/** @throws PlainError if no task is held at this Baton */
export function requireHeld(config: CliConfig, access: Access): HeldWork {
  const held = readHeld(config, access);
  if (held === undefined)
    throw new PlainError(`You don't hold a task here: ${invocation()} work take takes one.`);
  return held;
}

export function writeHeld(config: CliConfig, held: HeldWork | undefined): void {
  const path = fileOf(config);
  if (held === undefined) return rmSync(path, { force: true });
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const next = `${path}.${process.pid}.tmp`;
  writeFileSync(next, JSON.stringify(held), { mode: 0o600 });
  renameSync(next, path);
}

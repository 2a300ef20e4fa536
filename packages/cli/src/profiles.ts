import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import type { CliConfig } from './config.ts';
import { PlainError } from './plain-error.ts';

/** The sign-in to one Baton. */
export interface Profile {
  readonly url: string;
  /** A personal access token; absent after a sign-in through the browser. */
  readonly token?: string;
  readonly grant?: ProfileGrant;
}

/** A sign-in through the browser. A refresh replaces both tokens. */
export interface ProfileGrant {
  readonly tokenEndpoint: string;
  readonly refreshToken: string;
  readonly accessToken: string;
  readonly expiresAtMs: number;
}

export interface Profiles {
  /** The name of the current profile. */
  readonly current: string | undefined;
  readonly profiles: Readonly<Record<string, Profile>>;
}

/** The file of all profiles, which only its owner may read. */
export function profilesFile({ environment }: CliConfig): string {
  const base = environment.XDG_CONFIG_HOME || join(environment.HOME || homedir(), '.config');
  return join(base, 'baton', 'profiles.json');
}

/** @throws PlainError for a damaged or unreadable file */
export function readProfiles(config: CliConfig): Profiles {
  const path = profilesFile(config);
  try {
    const read = JSON.parse(readFileSync(path, 'utf8')) as Partial<Profiles>;
    return { current: read.current, profiles: read.profiles ?? {} };
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ENOTDIR'].includes(code)) return { current: undefined, profiles: {} };
    throw new PlainError(`${path} can't be read: correct it, or delete it and sign in again.`);
  }
}

/** Replaces the file atomically: a crash leaves the previous one. */
export function writeProfiles(config: CliConfig, profiles: Profiles): void {
  const path = profilesFile(config);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const next = `${path}.${process.pid}.tmp`;
  writeFileSync(next, `${JSON.stringify(profiles, undefined, 2)}\n`, { mode: 0o600 });
  chmodSync(next, 0o600);
  renameSync(next, path);
}

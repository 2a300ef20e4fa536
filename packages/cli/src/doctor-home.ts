import { type Stats } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { visible } from '@baton/sdk/node';
import { invocation } from '../../../bin/invocation.mjs';
import type { CliConfig } from './config.ts';
import { projectRoot } from './connection.ts';

/** The result of one check. */
export interface Finding {
  readonly check: string;
  readonly isGood: boolean;
  readonly says: string;
  /** The remedy; only for a failed check. */
  readonly repair?: string;
}

interface Places {
  readonly identity: string;
  readonly coordination: string;
}

const databaseSettings = ['IAM_DATABASE_URL', 'CP_DATABASE_URL'] as const;

/**
 * Checks the folder of the Baton on this machine: BATON_HOME, else `.baton` here or in the checkout. If there is none,
 * returns no checks.
 */
export async function examineHome({ home, environment }: CliConfig): Promise<Finding[]> {
  const folders = home === undefined ? ['.baton', join(projectRoot, '.baton')] : [home];
  for (const folder of folders.map((path) => resolve(path)))
    if ((await statOf(join(folder, 'version.json'))) !== undefined)
      return [...(await openToServer(folder)), ...(await databasesOf(folder, environment))];
  return [];
}

/** For root, PostgreSQL runs as another user: it ends at its next checkpoint if that user can't traverse the folder. */
async function openToServer(home: string): Promise<Finding[]> {
  const server = await statOf(join(home, 'postgres', 'data'));
  const folder = await statOf(home);
  if (server === undefined || folder === undefined || server.uid === folder.uid || server.uid === 0)
    return [];
  const closed = await firstClosed(home, server);
  const name = visible(closed ?? home);
  const who = `user ${server.uid}, who runs PostgreSQL`;
  if (closed === undefined)
    return [{ check: 'data folder', isGood: true, says: `${name} is open to ${who}` }];
  const command =
    closed === home
      ? `chgrp ${server.gid} ${name} && chmod 710 ${name} (a start and a backup do that, too).`
      : `chmod o+x ${name}`;
  return [
    {
      check: 'data folder',
      isGood: false,
      says: `${name} is closed to ${who}`,
      repair: `As root: ${command}`,
    },
  ];
}

/** Returns the first folder from `/` down to this one that the user can't traverse. */
async function firstClosed(home: string, user: Pick<Stats, 'uid' | 'gid'>): Promise<string | undefined> {
  const paths = [home];
  for (let path = home; dirname(path) !== path; path = dirname(path)) paths.unshift(dirname(path));
  for (const path of paths) {
    const found = await statOf(path);
    if (found === undefined || !letsPass(found, user)) return path;
  }
  return undefined;
}

function letsPass({ uid, gid, mode }: Stats, user: Pick<Stats, 'uid' | 'gid'>): boolean {
  if (uid === user.uid) return (mode & 0o100) !== 0;
  return (mode & (gid === user.gid ? 0o010 : 0o001)) !== 0;
}

/** Checks the address of the databases, and whether a start from this shell would find them. */
async function databasesOf(home: string, environment: CliConfig['environment']): Promise<Finding[]> {
  const check = 'databases';
  const [set, missing] = [true, false].map((isSet) =>
    databaseSettings.filter((name) => isGiven(environment, name) === isSet),
  ) as [string[], string[]];
  if (set.length === 1)
    return [
      {
        check,
        isGood: false,
        says: `${set[0]} is set and ${missing[0]} is not`,
        repair: 'Set both to use a PostgreSQL of your own, or neither to use the built-in one.',
      },
    ];
  const places = await recordedPlaces(home);
  if (places === undefined) return [];
  const says = visible(
    `your own PostgreSQL: identity at ${places.identity}, coordination at ${places.coordination}`,
  );
  const isRunning = (await statOf(join(home, 'lock'))) !== undefined;
  if (missing.length === 0 || isRunning) return [{ check, isGood: true, says }];
  return [
    {
      check,
      isGood: false,
      says,
      repair: `Set ${missing.join(' and ')} to these databases: this shell lacks them, so ${invocation()} start is refused.`,
    },
  ];
}

/** Undefined for the built-in PostgreSQL, or if the state can't be read. */
async function recordedPlaces(home: string): Promise<Places | undefined> {
  try {
    const { databases } = JSON.parse(await readFile(join(home, 'state.json'), 'utf8')) as {
      databases?: string | Partial<Places>;
    };
    if (typeof databases !== 'object') return undefined;
    return { identity: String(databases.identity), coordination: String(databases.coordination) };
  } catch {
    return undefined;
  }
}

/** The names of settings are case-insensitive. */
function isGiven(environment: CliConfig['environment'], setting: string): boolean {
  return Object.entries(environment).some(([name, value]) => name.toUpperCase() === setting && value);
}

async function statOf(path: string): Promise<Stats | undefined> {
  return stat(path).catch(() => undefined);
}

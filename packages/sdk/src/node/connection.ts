import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { visible } from './visible.ts';

/** What a running Baton writes to `connection.json` in its folder, for the programs of its owner. */
export interface Connection {
  readonly identityUrl: string;
  readonly coordinationUrl: string;
  readonly issuer: string;
  readonly tenantId: string;
  readonly iamBootstrapToken: string;
  /** A personal access token of the administrator. */
  readonly adminToken: string;
}

export interface ConnectionPlaces {
  /** A connection file: there, and nowhere else. */
  readonly file?: string | undefined;
  /** The folder of a Baton: its file, and no other. */
  readonly home?: string | undefined;
  /** Folders whose `.baton` is looked into, one after the other. Such a file is used only if it is the user's own. */
  readonly folders: readonly string[];
  /** The path of a file below one of these folders that the user has agreed to use although it isn't their own. */
  readonly agreed?: string | undefined;
  /** Whether the user's own token goes to the address in the file: in one of these folders it must then be of this machine. */
  readonly sendsOwnToken?: boolean | undefined;
}

/** A connection file that can't be used. The message is a sentence for the user and holds no value of the file. */
export class ConnectionError extends Error {
  override readonly name: string = 'ConnectionError';
}

/**
 * A connection file that was found in a folder and that somebody else may have put there: the folder may be shared, or come
 * from a repository or an archive. Tokens and tasks would go to the address that it names.
 */
export class ForeignConnectionError extends ConnectionError {
  override readonly name = 'ForeignConnectionError';
  readonly path: string;

  constructor(path: string, why: string) {
    super(
      `${visible(path)} ${why}, so it is not used: somebody else could have put it there, and it could lead to a server of theirs. If you trust it, set BATON_HOME=${inShell(dirname(path))}.`,
    );
    this.path = path;
  }
}

const fields = [
  'identityUrl',
  'coordinationUrl',
  'issuer',
  'tenantId',
  'iamBootstrapToken',
  'adminToken',
] as const;

/**
 * Finds how to connect to the Baton of this machine.
 * @example console.log(findConnection({ folders: [folder] })?.coordinationUrl);
 * @returns undefined where none of the places has a file
 * @throws ConnectionError when a file is damaged or can't be read, or the named one is missing;
 * ForeignConnectionError for one in a folder that belongs to somebody else, that others can read or change, or that would take
 * the user's own token to another machine
 */
export function findConnection({
  file,
  home,
  folders,
  agreed,
  sendsOwnToken = false,
}: ConnectionPlaces): Connection | undefined {
  const named = file ?? (home && join(home, 'connection.json'));
  const candidates = named ? [named] : folders.map((folder) => resolve(folder, '.baton', 'connection.json'));
  for (const path of candidates) {
    const text = named ? readText(path) : readOwnText(path, agreed);
    if (text === undefined) continue;
    const found = parseConnection(text, path);
    // An archive keeps owner and mode of what Baton writes: whoever unpacks it owns the file.
    const isElsewhere = ![found.coordinationUrl, found.identityUrl].every(isThisMachine);
    if (sendsOwnToken && isElsewhere && !named && path !== agreed)
      throw new ForeignConnectionError(path, 'leads to another machine, which would get your token');
    return found;
  }
  if (file !== undefined) throw new ConnectionError(`There is no file ${file}.`);
  return undefined;
}

/** Whether an address is one at which only this machine answers. */
function isThisMachine(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

/**
 * Reads the text of a connection file; `path` is for the messages.
 * @example
 * const text = JSON.stringify(findConnection({ folders: [folder] }));
 * console.log(parseConnection(text, 'connection.json').tenantId);
 * @throws ConnectionError that names what is missing, never a value
 */
export function parseConnection(text: string, path: string): Connection {
  const values = objectIn(text);
  if (values === undefined)
    throw new ConnectionError(`${path} is not a JSON object: start Baton again to write a new one.`);
  const missing = fields.filter((name) => typeof values[name] !== 'string' || values[name] === '');
  if (missing.length > 0)
    throw new ConnectionError(`${path} lacks ${missing.join(', ')}: start Baton again to write a new one.`);
  return Object.fromEntries(fields.map((name) => [name, values[name]])) as unknown as Connection;
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    return withoutFile(path, error);
  }
}

/** Asks the opened file: one that is looked at before it is opened could be replaced in between. */
function readOwnText(path: string, agreed: string | undefined): string | undefined {
  let opened: number;
  try {
    // A pipe in its place would otherwise never be opened.
    opened = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    return withoutFile(path, error);
  }
  try {
    const why = whyForeign(fstatSync(opened));
    if (why !== undefined && path !== agreed) throw new ForeignConnectionError(path, why);
    return readFileSync(opened, 'utf8');
  } finally {
    closeSync(opened);
  }
}

/**
 * Baton writes its file for the eyes of its owner only. A checkout of a repository makes files that others can read, so
 * the mode also tells a file that came with one. Windows has neither owner nor mode here.
 */
function whyForeign(found: Stats): string | undefined {
  const ownId = process.geteuid?.();
  if (!found.isFile()) return 'is no file';
  if (ownId === undefined) return undefined;
  if (found.uid !== ownId) return `belongs to user ${found.uid} and not to you`;
  return (found.mode & 0o077) === 0 ? undefined : 'can be read or changed by other users';
}

/** @returns undefined for a file that is not there */
function withoutFile(path: string, error: unknown): undefined {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (['ENOENT', 'ENOTDIR'].includes(code)) return undefined;
  const hint =
    code === 'EACCES'
      ? ': it belongs to another user, as after "sudo baton start". Run this as that user, or set BATON_URL and BATON_TOKEN.'
      : '.';
  throw new ConnectionError(`${visible(path)} can't be read (${code})${hint}`);
}

/** One word for a shell: somebody else may have named the folder, and a person copies it from the message. */
function inShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${visible(word).replaceAll("'", `'\\''`)}'`;
}

import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { visible } from './visible.ts';

/** The content of `connection.json`, which a running Baton writes into its folder for its owner's programs. */
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
  /** The path of the connection file. If it is given, no other file is searched for. */
  readonly file?: string | undefined;
  /** The folder of a Baton, whose connection file is used. If it is given, no other file is searched for. */
  readonly home?: string | undefined;
  /** Folders whose `.baton` is searched, in this order. A file found there is used only if the user owns it. */
  readonly folders: readonly string[];
  /** The path of a file below one of these folders that the user has agreed to use without owning it. */
  readonly agreed?: string | undefined;
  /**
   * Whether the user's own token is sent to the address in the file. A file in one of these folders must then contain
   * an address on this machine.
   */
  readonly sendsOwnToken?: boolean | undefined;
}

/** A connection file that can't be used. The message is for the user and contains no value of the file. */
export class ConnectionError extends Error {
  override readonly name: string = 'ConnectionError';
}

/**
 * A connection file in a searched folder that another user may have created: the folder may be shared, or come from a
 * repository or an archive. Tokens and tasks would be sent to its address.
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
 * Finds the connection details of this machine's Baton.
 * @example console.log(findConnection({ folders: [folder] })?.coordinationUrl);
 * @returns undefined if no file was found
 * @throws ConnectionError if a file is damaged or can't be read, or the named one is missing;
 * ForeignConnectionError for one in a folder that belongs to somebody else, that others can read or change, or that
 * would take the user's own token to another machine
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
    // A file from an archive may seem to be the user's own: an archive keeps the mode of Baton's file, and unpacking
    // makes the current user its owner.
    const isElsewhere = ![found.coordinationUrl, found.identityUrl].every(isThisMachine);
    if (sendsOwnToken && isElsewhere && !named && path !== agreed)
      throw new ForeignConnectionError(path, 'leads to another machine, which would receive your token');
    return found;
  }
  if (file !== undefined) throw new ConnectionError(`There is no file ${file}.`);
  return undefined;
}

/** Whether an address is on this machine. */
function isThisMachine(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

/**
 * Parses the text of a connection file; `path` is for the messages.
 * @example
 * const text = JSON.stringify(findConnection({ folders: [folder] }));
 * console.log(parseConnection(text, 'connection.json').tenantId);
 * @throws ConnectionError that names the missing fields, never a value
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

/** Reads the file after checking it. The check uses the open file, which can't be replaced before the read. */
function readOwnText(path: string, agreed: string | undefined): string | undefined {
  let opened: number;
  try {
    // Without O_NONBLOCK, opening a pipe would block forever.
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
 * Why a file isn't the user's own. Only the owner can read a file that Baton writes, whereas files from a repository
 * checkout can be read by others, so the mode reveals these too. Windows has neither owners nor modes.
 */
function whyForeign(found: Stats): string | undefined {
  const ownId = process.geteuid?.();
  if (!found.isFile()) return 'is no file';
  if (ownId === undefined) return undefined;
  if (found.uid !== ownId) return `belongs to user ${found.uid} and not to you`;
  return (found.mode & 0o077) === 0 ? undefined : 'can be read or changed by other users';
}

/** @returns undefined if the file doesn't exist */
function withoutFile(path: string, error: unknown): undefined {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (['ENOENT', 'ENOTDIR'].includes(code)) return undefined;
  const hint =
    code === 'EACCES'
      ? ': it belongs to another user, as after "sudo baton start". Run this as that user, or set BATON_URL and BATON_TOKEN.'
      : '.';
  throw new ConnectionError(`${visible(path)} can't be read (${code})${hint}`);
}

/**
 * Quotes a path as one word for a shell, because another user may have chosen the folder's name, and people copy the
 * path from the message.
 */
function inShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${visible(word).replaceAll("'", `'\\''`)}'`;
}

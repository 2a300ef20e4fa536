import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Connection,
  ConnectionError,
  ForeignConnectionError,
  findConnection as findFile,
  parseConnection as parseFile,
} from '@baton/sdk/node';
import { invocation } from '../../../bin/invocation.mjs';
import type { CliConfig } from './config.ts';
import { exitCodes } from './error-text.ts';
import { PlainError } from './plain-error.ts';

export type { Connection } from '@baton/sdk/node';

export interface ConnectionOptions {
  /** Path of a connection file; without it, the default places are searched. */
  readonly connection?: string;
  /** The URL of the Baton, instead of the one in the file. */
  readonly url?: string;
}

/** A connection file that isn't the user's own, which is used only with their consent. */
export class ForeignConnection extends PlainError {
  readonly path: string;

  constructor({ message, path }: ForeignConnectionError) {
    super(message, { exitCode: exitCodes.notSignedIn });
    this.path = path;
  }
}

/** The root of the checkout. */
export const projectRoot = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));

/**
 * Like `findConnection`, for commands of this machine's administrator, such as the demos. A command never acts as the
 * administrator in place of an explicitly named account.
 * @throws PlainError if another account or machine is given, or the file can't be used
 */
export function findOwnConnection(
  options: ConnectionOptions & { readonly profile?: string },
  config: CliConfig,
): Connection | undefined {
  const { BATON_URL, BATON_TOKEN, BATON_PROFILE } = config.environment;
  const named =
    options.profile !== undefined
      ? '--profile'
      : options.connection !== undefined
        ? undefined
        : Object.entries({ BATON_URL, BATON_TOKEN, BATON_PROFILE }).find(([, value]) => value)?.[0];
  if (named !== undefined)
    throw new PlainError(
      `${named} selects an account, but this command acts as the administrator of this machine's Baton: omit it, or pass a file with --connection.`,
      { exitCode: exitCodes.usage },
    );
  if (options.url !== undefined && options.connection === undefined && !isThisMachine(options.url))
    throw new PlainError(`${options.url} is another machine: this command works on the Baton of this one.`, {
      exitCode: exitCodes.usage,
    });
  return findConnection(options, config);
}

/** The token of this machine's administrator is never sent to another machine. */
export function isThisMachine(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

/**
 * Reads the connection file: the given one, or `connection.json` in BATON_HOME, or in `.baton` here or in the checkout.
 * @throws PlainError if it doesn't exist or can't be used
 */
export function readConnection(
  options: Parameters<typeof findOwnConnection>[0],
  config: CliConfig,
): Connection {
  const found = findOwnConnection(options, config);
  if (found === undefined)
    throw new PlainError(
      `No Baton was found here: start one with ${invocation()} start, or set BATON_HOME to its folder.`,
    );
  return found;
}

/**
 * Like `readConnection`, but returns undefined if no file exists and none was given.
 * @param given whether the user's own token is sent to the address in the file, instead of the token in the file
 */
export function findConnection(
  options: ConnectionOptions,
  config: CliConfig,
  { sendsOwnToken = false } = {},
): Connection | undefined {
  const places = {
    file: options.connection,
    home: config.home,
    folders: ['.', projectRoot],
    agreed: config.agreed,
    sendsOwnToken,
  };
  const found = plainly(() => findFile(places));
  return found && withUrl(found, options.url);
}

/** @throws PlainError that lists the missing settings, never a value */
export function parseConnection(text: string, path: string): Connection {
  return plainly(() => parseFile(text, path));
}

function plainly<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (error instanceof ForeignConnectionError) throw new ForeignConnection(error);
    if (error instanceof ConnectionError) throw new PlainError(error.message);
    throw error;
  }
}

/** Replaces both addresses by one, as in the default run. */
function withUrl(connection: Connection, url: string | undefined): Connection {
  if (url === undefined) return connection;
  const base = url.replace(/\/+$/, '');
  return { ...connection, coordinationUrl: base, identityUrl: `${base}/iam` };
}

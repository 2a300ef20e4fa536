import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Connection,
  ConnectionError,
  ForeignConnectionError,
  findConnection as findFile,
  parseConnection as parseFile,
} from '@baton/sdk/node';
import type { CliConfig } from './config.ts';
import { exitCodes } from './error-text.ts';
import { PlainError } from './plain-error.ts';

export type { Connection } from '@baton/sdk/node';

export interface ConnectionOptions {
  /** Path of a connection file; without it, the default places are searched. */
  readonly connection?: string;
  /** Address of the Baton, instead of the one in the file. */
  readonly url?: string;
}

/** A connection file that isn't the user's own: it is used only if they agree. */
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
 * Reads how to connect: the named file, else `connection.json` in BATON_HOME, else in `.baton` here or in the checkout.
 * @throws PlainError when there is none, or it can't be used
 */
export function readConnection(options: ConnectionOptions, config: CliConfig): Connection {
  const found = findConnection(options, config);
  if (found === undefined)
    throw new PlainError(
      'No Baton was found here: start one with npm start, or set BATON_HOME to its folder.',
    );
  return found;
}

/** As `readConnection`, but returns undefined when there is no file and none was named. */
export function findConnection(options: ConnectionOptions, config: CliConfig): Connection | undefined {
  const places = {
    file: options.connection,
    home: config.home,
    folders: ['.', projectRoot],
    agreed: config.agreed,
  };
  const found = plainly(() => findFile(places));
  return found && withUrl(found, options.url);
}

/** @throws PlainError that names what is missing, never a value */
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

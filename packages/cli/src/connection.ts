import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CliConfig } from './config.ts';
import { PlainError } from './plain-error.ts';

/** What `npm start` writes to `connection.json` in BATON_HOME for clients. */
export interface Connection {
  readonly identityUrl: string;
  readonly coordinationUrl: string;
  readonly issuer: string;
  readonly tenantId: string;
  readonly iamBootstrapToken: string;
  /** A personal access token of the administrator. */
  readonly adminToken: string;
}

export interface ConnectionOptions {
  /** Path of a connection file; without it, the default places are searched. */
  readonly connection?: string;
  /** Address of the Baton, instead of the one in the file. */
  readonly url?: string;
}

const names = [
  'identityUrl',
  'coordinationUrl',
  'issuer',
  'tenantId',
  'iamBootstrapToken',
  'adminToken',
] as const;

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
  const named = options.connection ?? (config.home && join(config.home, 'connection.json'));
  const candidates = named
    ? [named]
    : ['.', projectRoot].map((folder) => resolve(folder, '.baton', 'connection.json'));
  for (const path of candidates) {
    const text = readText(path);
    if (text !== undefined) return withUrl(parseConnection(text, path), options.url);
  }
  if (options.connection !== undefined) throw new PlainError(`There is no file ${options.connection}.`);
  return undefined;
}

/** @throws PlainError that names what is missing, never a value */
export function parseConnection(text: string, path: string): Connection {
  const values = objectIn(text);
  if (values === undefined)
    throw new PlainError(`${path} is not a JSON object: start Baton again to write a new one.`);
  const missing = names.filter((name) => typeof values[name] !== 'string' || values[name] === '');
  if (missing.length > 0)
    throw new PlainError(`${path} lacks ${missing.join(', ')}: start Baton again to write a new one.`);
  return Object.fromEntries(names.map((name) => [name, values[name]])) as unknown as Connection;
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

/** Replaces both addresses by one, as in the default run. */
function withUrl(connection: Connection, url: string | undefined): Connection {
  if (url === undefined) return connection;
  const base = url.replace(/\/+$/, '');
  return { ...connection, coordinationUrl: base, identityUrl: `${base}/iam` };
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw new PlainError(`${path} can't be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}

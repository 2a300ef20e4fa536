import { join } from 'node:path';
import type { PlatformSettings } from './config.ts';
import { connectionFile } from './connection.ts';
import { readPrivateFile } from './private-files.ts';
import { StartError } from './start-error.ts';

/**
 * The location of a Baton's databases: the built-in PostgreSQL of its folder, or these addresses, without user and
 * password so that messages can contain them.
 */
export type DatabasePlaces = 'built-in' | { readonly identity: string; readonly coordination: string };

type DatabaseSettings = Pick<PlatformSettings, 'IAM_DATABASE_URL' | 'CP_DATABASE_URL'>;

/**
 * The socket folder of the built-in server, which may also be in the temporary folder or in a Baton that is being
 * restored.
 */
const ownSocketFolder = /(?:\/postgres(?:\.restoring)?\/run|\/baton-\d+-[\da-f]{12})$/;

/** Where the databases are according to the settings. @throws StartError if they contain only one of the two */
export function placesOfSettings({
  IAM_DATABASE_URL: iam,
  CP_DATABASE_URL: cp,
}: DatabaseSettings): DatabasePlaces {
  if (iam === '' && cp === '') return 'built-in';
  if (iam === '' || cp === '') {
    const [given, missing] =
      iam === '' ? ['CP_DATABASE_URL', 'IAM_DATABASE_URL'] : ['IAM_DATABASE_URL', 'CP_DATABASE_URL'];
    throw new StartError(
      `${given} is set but ${missing} is not. Set both to use your own PostgreSQL, or neither to use the built-in one.`,
    );
  }
  return { identity: addressOf(iam), coordination: addressOf(cp) };
}

/**
 * The location of the databases of a Baton that has finished its first start, from its state file, or, for older
 * versions, from its connection file. Undefined for a folder without such a Baton.
 * @param read the text of a file in the folder; undefined if it does not exist
 */
export function knownPlaces(read: (name: string) => string | undefined): DatabasePlaces | undefined {
  const { adminPrincipalId, databases } = parsed(read('state.json'));
  if (adminPrincipalId === undefined) return undefined;
  if (databases === 'built-in') return databases;
  const { identity, coordination } = (databases ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof identity === 'string' && typeof coordination === 'string') return { identity, coordination };
  const { iamDatabaseUrl: iam, cpDatabaseUrl: cp } = parsed(read(connectionFile));
  if (typeof iam !== 'string' || typeof cp !== 'string') return undefined;
  return isBuiltIn(iam) && isBuiltIn(cp)
    ? 'built-in'
    : { identity: addressOf(iam), coordination: addressOf(cp) };
}

/** `knownPlaces` of a Baton's folder. */
export function placesOfHome(home: string): DatabasePlaces | undefined {
  return knownPlaces((name) => readPrivateFile(join(home, name)));
}

/** @throws StartError if this Baton's databases are on another server that isn't in the settings */
export function rejectMissingAddresses(home: string, settings: DatabaseSettings): void {
  const known = placesOfHome(home);
  if (known === undefined || known === 'built-in' || placesOfSettings(settings) !== 'built-in') return;
  throw new StartError(
    `The Baton in ${home} stores its data in your own PostgreSQL (${formatPlaces(known)}). Set IAM_DATABASE_URL and CP_DATABASE_URL to these databases, or BATON_HOME to another folder.`,
  );
}

export function formatPlaces(places: Exclude<DatabasePlaces, 'built-in'>): string {
  return `identity at ${places.identity}, coordination at ${places.coordination}`;
}

export function isSamePlace(left: DatabasePlaces | undefined, right: DatabasePlaces): boolean {
  if (left === undefined || left === 'built-in' || right === 'built-in') return left === right;
  return left.identity === right.identity && left.coordination === right.coordination;
}

function isBuiltIn(url: string): boolean {
  return URL.canParse(url) && ownSocketFolder.test(new URL(url).searchParams.get('host') ?? '');
}

/** Host, port and database of a PostgreSQL address. */
function addressOf(url: string): string {
  if (isBuiltIn(url)) return 'the built-in PostgreSQL';
  if (!URL.canParse(url)) return 'an unparsable address';
  const { hostname, port, pathname, searchParams } = new URL(url);
  return `${searchParams.get('host') || hostname || 'localhost'}:${searchParams.get('port') || port || '5432'}${pathname}`;
}

function parsed(text: string | undefined): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text ?? '{}');
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // The code that uses the file's contents will report that they are damaged.
    return {};
  }
}

import { join } from 'node:path';
import type { PlatformSettings } from './config.ts';
import { connectionFile } from './connection.ts';
import { readPrivateFile } from './private-files.ts';
import { StartError } from './start-error.ts';

/**
 * Where the databases of a Baton are: in the built-in PostgreSQL of its folder, or at these addresses. An address has
 * neither user nor password, so that messages can show it.
 */
export type DatabasePlaces = 'built-in' | { readonly identity: string; readonly coordination: string };

type DatabaseSettings = Pick<PlatformSettings, 'IAM_DATABASE_URL' | 'CP_DATABASE_URL'>;

/** The folder of the built-in server's socket, also under the temporary folder and of a restored Baton. */
const ownSocketFolder = /(?:\/postgres(?:\.restoring)?\/run|\/baton-\d+-[\da-f]{12})$/;

/**
 * Where the settings put the databases.
 * @throws StartError where they name only one of the two
 */
export function placesOfSettings({
  IAM_DATABASE_URL: iam,
  CP_DATABASE_URL: cp,
}: DatabaseSettings): DatabasePlaces {
  if (iam === '' && cp === '') return 'built-in';
  if (iam === '' || cp === '') {
    const [given, missing] =
      iam === '' ? ['CP_DATABASE_URL', 'IAM_DATABASE_URL'] : ['IAM_DATABASE_URL', 'CP_DATABASE_URL'];
    throw new StartError(
      `${given} is set and ${missing} is not: set both to use a PostgreSQL of your own, or neither to use the built-in one.`,
    );
  }
  return { identity: addressOf(iam), coordination: addressOf(cp) };
}

/**
 * Where a Baton that finished its first start keeps its databases, by its state, or, where an older version wrote that, by
 * its connection file. Undefined for a folder without such a Baton.
 * @param read the text of a file of the folder; undefined where there is none
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

/** @throws StartError if this Baton's databases are on another server, and the settings don't name it */
export function refuseForgottenAddresses(home: string, settings: DatabaseSettings): void {
  const known = placesOfHome(home);
  if (known === undefined || known === 'built-in' || placesOfSettings(settings) !== 'built-in') return;
  throw new StartError(
    `The Baton in ${home} keeps its data in a PostgreSQL of your own (${written(known)}): set IAM_DATABASE_URL and CP_DATABASE_URL to these databases, or BATON_HOME to another folder.`,
  );
}

/** For a message. */
export function written(places: Exclude<DatabasePlaces, 'built-in'>): string {
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
  if (!URL.canParse(url)) return 'an address of another form';
  const { hostname, port, pathname, searchParams } = new URL(url);
  return `${searchParams.get('host') || hostname || 'localhost'}:${searchParams.get('port') || port || '5432'}${pathname}`;
}

function parsed(text: string | undefined): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text ?? '{}');
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // Whoever reads the file for its contents reports that it is damaged.
    return {};
  }
}

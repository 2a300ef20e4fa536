import { invocation } from '../../../bin/invocation.mjs';
import type { Home } from './home.ts';
import { writePrivateFile } from './private-files.ts';
import { StartError } from './start-error.ts';

/** The connection details for programs: `connection.json` in Baton's folder, readable by its owner only. */
export interface Connection {
  readonly publicUrl: string;
  readonly identityUrl: string;
  readonly coordinationUrl: string;
  readonly issuer: string;
  readonly tenantId: string;
  readonly iamBootstrapToken: string;
  readonly cpBootstrapToken: string;
  /** The administrator as a principal of coordination. */
  readonly adminPrincipalId: string;
  /** A personal access token of the administrator, for the audience control-plane with all its scopes. */
  readonly adminToken: string;
  readonly iamDatabaseUrl: string;
  readonly cpDatabaseUrl: string;
}

export const connectionFile = 'connection.json';

/** Each field as a shell variable, in the order of `baton env`. */
const variables: Record<keyof Connection, string> = {
  publicUrl: 'BATON_PUBLIC_URL',
  identityUrl: 'BATON_IDENTITY_URL',
  coordinationUrl: 'BATON_COORDINATION_URL',
  issuer: 'BATON_ISSUER',
  tenantId: 'BATON_TENANT_ID',
  iamBootstrapToken: 'BATON_IAM_BOOTSTRAP_TOKEN',
  cpBootstrapToken: 'BATON_CP_BOOTSTRAP_TOKEN',
  adminPrincipalId: 'BATON_ADMIN_PRINCIPAL_ID',
  adminToken: 'BATON_ADMIN_TOKEN',
  iamDatabaseUrl: 'BATON_IAM_DATABASE_URL',
  cpDatabaseUrl: 'BATON_CP_DATABASE_URL',
};

export function writeConnection(home: Home, connection: Connection): void {
  writePrivateFile(home.path(connectionFile), `${JSON.stringify(connection, undefined, 2)}\n`);
}

/**
 * Parses a connection file.
 * @throws StartError for a damaged file; the message omits its contents, which are secret
 */
export function parseConnection(text: string, path: string): Readonly<Record<string, unknown>> {
  try {
    const value = JSON.parse(text) as Record<string, unknown> | null;
    if (typeof value?.adminToken === 'string') return value;
  } catch {
    // Rejected below, like JSON without an admin token.
  }
  throw new StartError(`${path} is damaged. Run ${invocation()} start again to write a new one.`);
}

/** Lines `export NAME='value'` for a POSIX shell, quoted so that no value can run a command. */
export function shellExports(connection: Readonly<Record<string, unknown>>): string {
  return Object.entries(variables)
    .map(([field, name]) => `export ${name}='${String(connection[field] ?? '').replaceAll("'", "'\\''")}'\n`)
    .join('');
}

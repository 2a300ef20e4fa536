import type { Command } from 'commander';
import { AccessToken } from './access-token.ts';
import type { CliConfig } from './config.ts';
import { type ConnectionOptions, readConnection } from './connection.ts';
import type { ConsoleOutput } from './console-output.ts';
import { CoordinationClient } from './coordination-client.ts';
import { HttpClient } from './http-client.ts';

/** What every command is given. */
export interface CommandContext {
  readonly config: CliConfig;
  readonly output: ConsoleOutput;
}

/** The options that every command has. */
export interface CommonOptions extends ConnectionOptions {
  readonly json?: boolean;
}

export function withCommonOptions(command: Command): Command {
  return command
    .option('--json', 'print JSON for a program')
    .option('--connection <file>', 'the connection file (default: connection.json in BATON_HOME or .baton)')
    .option('--url <address>', 'the address of Baton, instead of the one in the connection file');
}

/** Runs `work` with a client of the administrator, for the Baton that the options name; then closes its connections. */
export async function asAdministrator<T>(
  options: CommonOptions,
  { config }: CommandContext,
  work: (client: CoordinationClient) => Promise<T>,
): Promise<T> {
  const connection = readConnection(options, config);
  const identity = new HttpClient(connection.identityUrl);
  const coordination = new HttpClient(connection.coordinationUrl);
  try {
    return await work(new CoordinationClient(coordination, new AccessToken(identity, connection.adminToken)));
  } finally {
    identity.close();
    coordination.close();
  }
}

import type { Command } from 'commander';
import type { BatonClient, WireRequest } from '@baton/sdk';
import { type Access, type AccessOptions, findAccess, withClient } from './access.ts';
import type { CliConfig } from './config.ts';
import type { ConsoleOutput } from './console-output.ts';
import { FilterFailure } from './json-filter.ts';
import { type DeclaredResult, declareResult } from './result-form.ts';
import type { ShowOptions } from './show.ts';

/** The context of every command. */
export interface CommandContext {
  readonly config: CliConfig;
  readonly output: ConsoleOutput;
}

/** The options of every command. */
export interface CommonOptions extends AccessOptions, ShowOptions {}

/** The options that `withCommonOptions` adds. */
export const commonOptionNames: readonly string[] = ['--json', '--jq', '--profile', '--connection', '--url'];

/** @param result the fields of its JSON, which `--json` may choose from */
export function withCommonOptions(command: Command, result: DeclaredResult): Command {
  declareResult(command, result);
  return command
    .option(
      '--json [fields]',
      'print JSON for a program: the whole object, or these fields, separated by commas',
    )
    .option('--jq <filter>', 'print the result of this jq filter on the JSON of --json')
    .option('--profile <name>', 'the profile to use (baton context)')
    .option('--connection <file>', 'the connection file (default: connection.json in BATON_HOME or .baton)')
    .option('--url <address>', 'the address of Baton, instead of the configured one');
}

/** Runs `work` with a client for the Baton and the account that the options select. */
export async function asCaller<Value>(
  options: CommonOptions,
  { config, output }: CommandContext,
  work: (baton: BatonClient, access: Access) => Promise<Value>,
): Promise<Value> {
  const access = findAccess(options, config);
  let hasWritten = false;
  const sent = ({ method, url }: WireRequest) => {
    const isExchange = url.endsWith(':exchange') || url.endsWith('/oauth2/token');
    if (method !== 'GET' && !isExchange) hasWritten = true;
  };
  try {
    return await withClient(access, (baton) => work(baton, access), sent);
  } catch (error) {
    // Print the result although the filter failed, because it may not be available again: a new token is shown only
    // once.
    if (error instanceof FilterFailure && hasWritten)
      output.progress(`The command was executed. Its result: ${JSON.stringify(error.value)}\n`);
    throw error;
  }
}

import { dirname, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Access, ConnectionError, findAccess, findConnection } from '@baton/sdk/node';
import { type ClientConfig, type ClientName, clientNames, configOf, type Place } from './client-config.ts';
import { toolsetsIn, usualToolsets } from './offer.ts';
import { type Toolset, toolsets } from './tool.ts';

export interface McpSettings extends Access {
  readonly toolsets: readonly Toolset[];
  readonly isReadOnly: boolean;
  /** How long a lease outlives a killed process. */
  readonly leaseSeconds: number;
}

/** An invalid setting or argument. The message is for the user; `exitCode` is 1, or 2 for usage. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2) {
    super(message);
    this.exitCode = exitCode;
  }
}

const leaseSecondsUsual = 60;
/** The current folder and the checkout. */
const folders = ['.', dirname(dirname(dirname(import.meta.dirname)))];

export const usage = `Usage: baton mcp [--toolsets ${toolsets.join(',')}] [--read-only] [--lease-seconds N]
       baton mcp --config CLIENT [the options above]

An MCP server on standard input and output, for agents (docs/mcp.md).

  --toolsets       which tools there are, separated by commas, or all; ${usualToolsets.join(',')} without it
  --read-only      only tools that read, regardless of the other options
  --lease-seconds  how long a task remains claimed after this program is killed, 10 to 3600; ${leaseSecondsUsual} without it
  --config         print the configuration of a client that starts this server: ${clientNames.join(', ')}

From the environment: BATON_URL, the address of Baton; BATON_TOKEN, a personal access token. Without them, the Baton
of this machine is used, as its administrator; BATON_HOME names its folder.`;

/**
 * Writes the configuration for `--config`. @returns undefined without this option
 * @throws SettingsError
 */
export function readClientConfig(
  args: readonly string[],
  environment: Environment,
): ClientConfig | undefined {
  const { config, toolsets, 'read-only': isReadOnly, 'lease-seconds': leaseSeconds } = wordsOf(args);
  if (config === undefined) return undefined;
  if (!clientNames.includes(config as ClientName))
    throw new SettingsError(`--config is one of ${clientNames.join(', ')}; got ${config}.`, 2);
  toolsetsOf(toolsets);
  leaseSecondsOf(leaseSeconds);
  const kept = [
    ...(toolsets === undefined ? [] : ['--toolsets', toolsets]),
    ...(isReadOnly === true ? ['--read-only'] : []),
    ...(leaseSeconds === undefined ? [] : ['--lease-seconds', leaseSeconds]),
  ];
  return configOf(config as ClientName, kept, placeOf(environment));
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The Baton for the server, which a client starts in a different folder. */
function placeOf(environment: Environment): Place {
  const { coordinationUrl } = accessOf(environment);
  const { BATON_URL: url, BATON_TOKEN: token, BATON_HOME: home } = environment;
  // With a token, the server doesn't act as the administrator.
  if (url || token) return { url: coordinationUrl };
  const folder = folders.find((one) => findConnection({ folders: [one] }) !== undefined) ?? '.';
  return { home: home ? resolve(home) : resolve(folder, '.baton') };
}

/**
 * Reads the arguments and the environment. @returns undefined if only help is requested
 * @throws SettingsError
 */
export function readSettings(args: readonly string[], environment: Environment): McpSettings | undefined {
  const words = wordsOf(args);
  if (words.help === true) return undefined;
  return {
    ...accessOf(environment),
    toolsets: toolsetsOf(words.toolsets),
    isReadOnly: words['read-only'] === true,
    leaseSeconds: leaseSecondsOf(words['lease-seconds']),
  };
}

function wordsOf(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        toolsets: { type: 'string' },
        'read-only': { type: 'boolean' },
        'lease-seconds': { type: 'string' },
        config: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    throw new SettingsError(`${(error as Error).message.split('\n', 1)[0]} See baton mcp --help.`, 2);
  }
}

function toolsetsOf(text: string | undefined): readonly Toolset[] {
  try {
    return text === undefined ? usualToolsets : toolsetsIn(text);
  } catch (error) {
    throw new SettingsError((error as Error).message, 2);
  }
}

function leaseSecondsOf(text: string | undefined): number {
  const seconds = Number(text ?? leaseSecondsUsual);
  if (Number.isInteger(seconds) && seconds >= 10 && seconds <= 3600) return seconds;
  throw new SettingsError('--lease-seconds is a whole number from 10 to 3600.', 2);
}

function accessOf(environment: Environment): Access {
  try {
    return findAccess(environment, folders);
  } catch (error) {
    if (error instanceof ConnectionError) throw new SettingsError(error.message, 1);
    throw error;
  }
}

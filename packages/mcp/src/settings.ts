import { dirname, resolve } from 'node:path';
import { type McpClientName, mcpClientNames } from '@baton/sdk/connect';
import { type Access, findAccess, findConnection } from '@baton/sdk/node';
import {
  accessHelp,
  leaseSecondsUsual,
  parseOptions,
  readLeaseSeconds,
  SettingsError,
} from '@baton/values/program-options';
import { buildClientConfig, type ClientConfig, type Place } from './client-config.ts';
import { toolsetsIn, usualToolsets } from './offer.ts';
import { type Toolset, toolsets } from './tool.ts';

export interface McpSettings extends Access {
  readonly toolsets: readonly Toolset[];
  readonly isReadOnly: boolean;
  /** How long a lease outlives a killed process. */
  readonly leaseSeconds: number;
}

/** The folders that are searched for a Baton: the current one and the checkout. */
const folders = ['.', dirname(dirname(dirname(import.meta.dirname)))];

export const usage = `Usage: baton mcp [--toolsets ${toolsets.join(',')}] [--read-only] [--lease-seconds N]
       baton mcp --config CLIENT [the options above]

An MCP server on standard input and output, for agents (docs/mcp.md).

  --toolsets       which tools there are, separated by commas, or all; ${usualToolsets.join(',')} without it
  --read-only      only tools that read, regardless of the other options
  --lease-seconds  how long a task remains claimed after this program is killed, 10 to 3600; ${leaseSecondsUsual} without it
  --config         print the configuration of a client that starts this server: ${mcpClientNames.join(', ')}

${accessHelp}`;

/**
 * Writes the configuration for `--config`. @returns undefined without this option
 * @throws SettingsError; ConnectionError
 */
export function readClientConfig(
  args: readonly string[],
  environment: Environment,
): ClientConfig | undefined {
  const { config, toolsets, 'read-only': isReadOnly, 'lease-seconds': leaseSeconds } = wordsOf(args);
  if (config === undefined) return undefined;
  if (!mcpClientNames.includes(config as McpClientName))
    throw new SettingsError(`--config must be one of ${mcpClientNames.join(', ')}; got ${config}.`, 2);
  toolsetsOf(toolsets);
  readLeaseSeconds(leaseSeconds);
  const kept = [
    ...(toolsets === undefined ? [] : ['--toolsets', toolsets]),
    ...(isReadOnly === true ? ['--read-only'] : []),
    ...(leaseSeconds === undefined ? [] : ['--lease-seconds', leaseSeconds]),
  ];
  return buildClientConfig(config as McpClientName, kept, placeOf(environment));
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Where the server finds Baton. A folder is absolute, because the client starts the server in a different folder. */
function placeOf(environment: Environment): Place {
  const { coordinationUrl } = findAccess(environment, folders);
  const { BATON_URL: url, BATON_TOKEN: token, BATON_HOME: home } = environment;
  // With a token, the server doesn't act as the administrator.
  if (url || token) return { url: coordinationUrl };
  const folder = folders.find((one) => findConnection({ folders: [one] }) !== undefined) ?? '.';
  return { home: home ? resolve(home) : resolve(folder, '.baton') };
}

/**
 * Reads the arguments and the environment. @returns undefined if only help is requested
 * @throws SettingsError; ConnectionError
 */
export function readSettings(args: readonly string[], environment: Environment): McpSettings | undefined {
  const words = wordsOf(args);
  if (words.help === true) return undefined;
  return {
    ...findAccess(environment, folders),
    toolsets: toolsetsOf(words.toolsets),
    isReadOnly: words['read-only'] === true,
    leaseSeconds: readLeaseSeconds(words['lease-seconds']),
  };
}

const wordsOf = (args: readonly string[]) =>
  parseOptions('baton mcp', args, {
    toolsets: { type: 'string' },
    'read-only': { type: 'boolean' },
    'lease-seconds': { type: 'string' },
    config: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  });

function toolsetsOf(text: string | undefined): readonly Toolset[] {
  try {
    return text === undefined ? usualToolsets : toolsetsIn(text);
  } catch (error) {
    throw new SettingsError((error as Error).message, 2);
  }
}

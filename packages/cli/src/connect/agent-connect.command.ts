import type { Command } from 'commander';
import type { BatonClient } from '@baton/sdk';
import {
  buildSnippet,
  type ConnectClient,
  ConnectRefusal,
  type ConnectServices,
  cancelConnection,
  connectAgent,
  connectClientNames,
  connectClients,
  describeConnected,
  type FirstCall,
  type IssuedConnection,
  isMcpClient,
  requireAdministrator,
  type Snippet,
  waitForFirstCall,
} from '@baton/sdk/connect';
import { invocation, programPath } from '../../../../bin/invocation.mjs';
import type { Access } from '../access.ts';
import { asCaller, type CommandContext, type CommonOptions, withCommonOptions } from '../command-context.ts';
import { exitCodes } from '../error-text.ts';
import { findWorkspaceId } from '../names.ts';
import { PlainError } from '../plain-error.ts';
import { fieldsNamed } from '../result-form.ts';
import { show } from '../show.ts';
import { wholeNumber } from '../whole-number.ts';
import { administrationOf } from './administration.ts';

const daySeconds = 86_400;
const daysUsual = 90;
const daysMax = 365;
const waitSecondsUsual = 600;
const waitSecondsMax = 3_600;

interface ConnectOptions extends CommonOptions {
  readonly client?: string;
  readonly role: string;
  readonly workspace?: string;
  readonly key?: string;
  readonly exec?: string;
  readonly stdio?: boolean;
  readonly expiresDays: number;
  readonly replace?: boolean;
  readonly waitSeconds: number;
}

/** `baton agent connect`: registers an agent, issues its token, prints what to paste, and waits for its first call. */
export function addAgentConnect(program: Command, context: CommandContext): void {
  const group = program.commands.find((command) => command.name() === 'agent') ?? program.command('agent');
  const command = withCommonOptions(
    group
      .command('connect <name>')
      .description('register an agent, print the configuration of its client, and wait for its first call'),
    fieldsNamed('key', 'revision', 'principalId', 'credentialId', 'expiresAt', 'file', 'format', 'snippet'),
  );
  command
    .option('--client <client>', `what it is: ${connectClientNames.join(', ')}`)
    .option('--role <role>', 'its access role; decisions are left out, because only people decide', 'member')
    .option('--workspace <workspace>', 'the workspace that it works in, by slug, name or id; any by default')
    .option('--key <key>', 'its key in the registry; derived from the name by default')
    .option('--exec <command>', 'for --client command: the command to run for each task')
    .option('--stdio', 'start the MCP server on this machine, instead of reaching it over HTTP')
    .option(
      '--expires-days <days>',
      `when its token expires, 1 to ${daysMax}`,
      wholeNumber(1, daysMax),
      daysUsual,
    )
    .option('--replace', 'revoke the token of an agent that is already connected')
    .option(
      '--wait-seconds <seconds>',
      `how long to wait for its first call, 0 to ${waitSecondsMax}; with --json it doesn't wait`,
      wholeNumber(0, waitSecondsMax),
      waitSecondsUsual,
    )
    .action((name: string, options: ConnectOptions) =>
      asCaller(options, context, (baton, access) => connect(name, options, { context, baton, access })),
    );
}

interface Place {
  readonly context: CommandContext;
  readonly baton: BatonClient;
  readonly access: Access;
}

async function connect(name: string, options: ConnectOptions, place: Place): Promise<void> {
  const { baton, access, context } = place;
  const client = requireClient(options);
  // Checked before the admin secret: without the permission, the secret would not help.
  await requireAdministrator(baton, {}).catch(asPlainError);
  const services: ConnectServices = { baton, administration: administrationOf(access, baton) };
  const workspaceId =
    options.workspace === undefined ? undefined : await findWorkspaceId(baton, options.workspace);
  await withInterrupt(async (signal) => {
    const issued = await connectAgent(services, {
      client,
      name,
      key: options.key,
      accessRole: options.role,
      workspaceId,
      lifetimeSeconds: options.expiresDays * daySeconds,
      replaces: options.replace,
      signal,
    }).catch(asPlainError);
    try {
      signal.throwIfAborted();
      await present(issued, snippetOf(client, issued, options, access), options, place);
      if (options.json === undefined && options.jq === undefined && options.waitSeconds > 0)
        await wait(issued, options.waitSeconds, signal, place);
    } catch (error) {
      await cancel(issued, services, context);
      throw error;
    }
  });
}

async function cancel(
  issued: IssuedConnection,
  services: ConnectServices,
  { output }: CommandContext,
): Promise<void> {
  try {
    await cancelConnection(services, issued);
    output.progress(
      `The token of ${issued.key} has been revoked, and nothing can use it. The agent remains registered: connect it again with the same name.\n`,
    );
  } catch {
    output.progress(
      `The token of ${issued.key} could not be revoked and remains valid: ${invocation()} token revoke ${issued.credentialId} revokes it.\n`,
    );
  }
}

/** @throws PlainError for an unknown client, or options that don't fit it */
function requireClient({ client, exec, stdio }: ConnectOptions): ConnectClient {
  const usage = { exitCode: exitCodes.usage };
  if (client === undefined || !Object.hasOwn(connectClients, client))
    throw new PlainError(
      `--client is one of ${connectClientNames.join(', ')}${client === undefined ? '' : `; got ${client}`}.`,
      usage,
    );
  const known = client as ConnectClient;
  if ((known === 'command') !== (exec !== undefined && exec.trim() !== ''))
    throw new PlainError(
      '--exec can only be used with --client command, for the command of the agent.',
      usage,
    );
  if (stdio === true && !isMcpClient(known))
    throw new PlainError(`--stdio is for MCP clients, not for --client ${known}.`, usage);
  return known;
}

function snippetOf(
  client: ConnectClient,
  { key, token }: IssuedConnection,
  { exec, workspace, stdio }: ConnectOptions,
  access: Access,
): Snippet {
  return buildSnippet(client, {
    url: publicAddressOf(access),
    token,
    agentKey: key,
    exec,
    workspace,
    program: invocation(),
    ...(stdio === true && { stdio: { command: process.execPath, args: [programPath, 'mcp'] } }),
  });
}

/** The address at which others reach Baton, if it is known: the issuer of tokens is below that address. */
function publicAddressOf({ issuer, identityUrl }: Access): string {
  return (issuer ?? identityUrl).replace(/\/iam$/, '');
}

/** The snippet goes to standard output, so that it can be written to a file; everything else goes to standard error. */
async function present(
  { key, revision, principalId, credentialId, expiresAt }: IssuedConnection,
  { text, file, format, nextStep }: Snippet,
  options: ConnectOptions,
  { context: { output } }: Place,
): Promise<void> {
  const result = { key, revision, principalId, credentialId, expiresAt, file, format, snippet: text };
  await show(output, options, result, () => text.split('\n'));
  if (options.json !== undefined || options.jq !== undefined) return;
  output.progress(
    `For ${file}. It contains the token of the agent ${key}, which is shown once, and expires at ${expiresAt}.\n${nextStep}\n`,
  );
}

async function wait(
  issued: IssuedConnection,
  waitSeconds: number,
  signal: AbortSignal,
  { baton, context: { output } }: Place,
): Promise<void> {
  output.progress(
    `Waiting for its first call, at most ${waitSeconds} s. Ctrl-C cancels, and revokes the token.\n`,
  );
  const found = await waitForFirstCall(baton, issued, { waitMs: waitSeconds * 1_000, signal });
  output.progress(`${outcomeText(found, issued)}\n`);
  if (found.state === 'removed' || found.state === 'expired') process.exitCode = exitCodes.failed;
}

function outcomeText(found: FirstCall, { key, displayName, expiresAt }: IssuedConnection): string {
  const again = `${invocation()} agent connect with the same name`;
  switch (found.state) {
    case 'connected':
      return describeConnected(displayName, found.client);
    case 'waiting':
      return `No call has arrived yet. The token remains valid until ${expiresAt}; ${again} revokes it and issues another one.`;
    case 'expired':
      return `The token expired before a call arrived: ${again} issues another one.`;
    case 'removed':
      return `The agent ${key} has been retired or disabled in the meantime.`;
  }
}

/** Runs `work` with a signal that Ctrl-C aborts, so that a token isn't left behind. */
async function withInterrupt(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const stopping = new AbortController();
  const stop = () => stopping.abort(new PlainError('The command was interrupted.'));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);
  try {
    await work(stopping.signal);
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, stop);
  }
}

function asPlainError(error: unknown): never {
  if (!(error instanceof ConnectRefusal)) throw error;
  const flag = error.code === 'agent_connected' ? ' --replace replaces it.' : '';
  throw new PlainError(`${error.message}${flag}`);
}

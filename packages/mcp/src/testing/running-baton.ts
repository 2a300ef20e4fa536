import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { type BatonClient, createClient } from '@baton/sdk';
import { type Connection, parseConnection } from '@baton/sdk/node';
import { repository, baton as runBaton } from '../../../../e2e/testing/baton-process.ts';

/** What an agent that works needs. */
export const agentPermissions = [
  'sessions.open',
  'tasks.read',
  'tasks.write',
  'tasks.claim',
  'task_types.read',
  'artifacts.read',
  'artifacts.write',
  'approvals.read',
  'approvals.manage',
  'events.read',
] as const;

/** The protocol that most clients speak today, and the current one. */
export type Era = '2025' | '2026';

export interface Participant {
  readonly token: string;
  readonly principalId: string;
  readonly baton: BatonClient;
}

export interface McpConnection {
  readonly client: Client;
  readonly pid: number;
  /** The names of the tools that are listed. */
  tools(): Promise<string[]>;
  /** Calls a tool and returns its text. @throws Error with the text of a refusal */
  call(name: string, args?: Record<string, unknown>): Promise<string>;
  /** Calls a tool that shall refuse, and returns what it says. */
  refused(name: string, args?: Record<string, unknown>): Promise<string>;
  close(): Promise<void>;
}

export interface RunningBaton {
  readonly url: string;
  readonly home: string;
  readonly connection: Connection;
  readonly admin: BatonClient;
  participant(
    permissions?: readonly string[],
    kind?: 'agent' | 'human',
    scopes?: readonly string[],
  ): Promise<Participant>;
  /** A client of `baton mcp` over standard input and output. */
  connect(token: string, args?: readonly string[], era?: Era): Promise<McpConnection>;
  stop(): Promise<void>;
}

const audiences = ['control-plane'];
const allScopes = ['control-plane:read', 'control-plane:write'];

/** Starts the whole of Baton in a temporary folder. */
export async function startRunningBaton(settings: Record<string, string> = {}): Promise<RunningBaton> {
  const folder = mkdtempSync(join(tmpdir(), 'baton-mcp-test-'));
  const home = join(folder, 'home');
  const running = runBaton(['start'], { BATON_HOME: home, PORT: '0', ...settings });
  const connections: McpConnection[] = [];
  const stop = async () => {
    await Promise.allSettled(connections.map((one) => one.close()));
    running.child.kill('SIGTERM');
    await running.ended;
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  await running.prints(/Baton is ready at http:\S+/).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  const file = join(home, 'connection.json');
  const connection = parseConnection(readFileSync(file, 'utf8'), file);
  const { coordinationUrl: url, tenantId, issuer, iamBootstrapToken: adminSecret } = connection;
  const clientOf = (token: string) => createClient({ url, credential: { token }, adminSecret });
  const admin = clientOf(connection.adminToken);
  return {
    url,
    home,
    connection,
    admin,
    async participant(permissions = agentPermissions, kind = 'agent', scopes = allScopes) {
      const made = await admin.identity.principals.create(tenantId, { kind, displayName: 'a test' });
      if (kind === 'human')
        await admin.identity.principals.recordAuthenticationContext(tenantId, made.id, { issuer });
      const { token } = await admin.identity.principals.createToken(tenantId, made.id, {
        name: 'test',
        audiences,
        scopeCeiling: [...scopes],
        expiresInSeconds: 3600,
      });
      if (token === null) throw new Error('the answer of a new token holds no token');
      const { id: principalId } = await admin.principals.create({ kind, displayName: 'a test' });
      const identity = { issuer, iamTenantId: tenantId, iamPrincipalId: made.id };
      await admin.principals.createIamBinding(principalId, { ...identity, permissions: [...permissions] });
      return { token, principalId, baton: clientOf(token) };
    },
    async connect(token, args = [], era = '2025') {
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: [join(repository, 'bin', 'baton.mjs'), 'mcp', ...args],
        env: { PATH: process.env.PATH ?? '', BATON_URL: url, BATON_TOKEN: token },
        stderr: 'inherit',
      });
      const client = clientOfEra(era);
      await client.connect(transport);
      const opened = { ...connectionOf(client), pid: Number(transport.pid) };
      connections.push(opened);
      return opened;
    },
    stop,
  };
}

export function clientOfEra(era: Era): Client {
  const mode = era === '2025' ? 'legacy' : { pin: '2026-07-28' };
  return new Client({ name: 'tests', version: '1' }, { versionNegotiation: { mode } });
}

/** The calls of tests, over any transport. */
export function connectionOf(client: Client): Omit<McpConnection, 'pid'> {
  const answer = async (name: string, args: Record<string, unknown> = {}) => {
    const { content, isError } = await client.callTool({ name, arguments: args });
    const text = (content as { type: string; text?: string }[]).map((part) => part.text ?? '').join('\n');
    return { text, isError: isError === true };
  };
  return {
    client,
    async tools() {
      return (await client.listTools()).tools.map(({ name }) => name).sort();
    },
    async call(name, args) {
      const { text, isError } = await answer(name, args);
      if (isError) throw new Error(text);
      return text;
    },
    async refused(name, args) {
      const { text, isError } = await answer(name, args);
      if (!isError) throw new Error(`${name} did not refuse: ${text}`);
      return text;
    },
    close: () => client.close(),
  };
}

/** The lease in an answer of work_next. */
export function leaseIn(text: string): string {
  const [, lease] = /Lease: ([\da-f-]{36})/.exec(text) ?? [];
  if (lease === undefined) throw new Error(`no lease in: ${text}`);
  return lease;
}

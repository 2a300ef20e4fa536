import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { fastStart, repository } from '@baton/testing/baton-process';
import {
  type RunningBaton as Running,
  sharedBaton,
  startRunningBaton as start,
} from '@baton/testing/running-baton';

export { agentPermissions, type Participant } from '@baton/testing/running-baton';

const mainFile = join(repository, 'packages/mcp/src/main.ts');

/** The protocol version that most clients use today, and the current one. */
export type Era = '2025' | '2026';

export interface McpConnection {
  readonly client: Client;
  readonly pid: number;
  /** The names of the tools that are listed. */
  tools(): Promise<string[]>;
  /** Calls a tool and returns its text. @throws Error with the text of a refusal */
  call(name: string, args?: Record<string, unknown>): Promise<string>;
  /** Calls a tool that must reject the call, and returns the message. */
  refused(name: string, args?: Record<string, unknown>): Promise<string>;
  close(): Promise<void>;
}

export interface RunningBaton extends Running {
  /** A client of `baton mcp` over standard input and output. */
  connect(token: string, args?: readonly string[], era?: Era): Promise<McpConnection>;
}

/** Starts the whole of Baton in a temporary folder. */
export const startRunningBaton = async (settings?: Record<string, string>) =>
  withConnections(await start(settings));

/** Returns the Baton that all test files of this process share. `stop()` closes only this caller's connections. */
export const shareRunningBaton = async () => withConnections(await sharedBaton());

function withConnections(running: Running): RunningBaton {
  const connections: McpConnection[] = [];
  return {
    ...running,
    async connect(token, args = [], era = '2025') {
      const transport = new StdioClientTransport({
        command: process.execPath,
        // Started without the wrapper `baton`, so that signals reach the server itself.
        args: ['--import', fastStart, mainFile, ...args],
        env: { PATH: process.env.PATH ?? '', BATON_URL: running.url, BATON_TOKEN: token },
        stderr: 'inherit',
      });
      const client = clientOfEra(era);
      await client.connect(transport);
      const opened = { ...connectionOf(client), pid: Number(transport.pid) };
      connections.push(opened);
      return opened;
    },
    async stop() {
      await Promise.allSettled(connections.map((one) => one.close()));
      await running.stop();
    },
  };
}

export function clientOfEra(era: Era): Client {
  const mode = era === '2025' ? 'legacy' : { pin: '2026-07-28' };
  return new Client({ name: 'tests', version: '1' }, { versionNegotiation: { mode } });
}

/** The calls that tests make, over any transport. */
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

/** The lease in a result of work_next. */
export function leaseIn(text: string): string {
  const [, lease] = /Lease: ([\da-f-]{36})/.exec(text) ?? [];
  if (lease === undefined) throw new Error(`no lease in: ${text}`);
  return lease;
}

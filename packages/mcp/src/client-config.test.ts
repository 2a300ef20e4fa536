import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { mcpClientNames } from '@baton/sdk/connect';
import { repository } from '@baton/testing/baton-process';
import { longTest } from '@baton/testing/depth';
import { connectionOf, type RunningBaton, shareRunningBaton } from './testing/running-baton.ts';

interface Server {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly env_vars?: readonly string[];
}

let baton: RunningBaton;
/** A user's project without Baton. */
let project: string;
before(async () => {
  baton = await shareRunningBaton();
  project = mkdtempSync(join(tmpdir(), 'baton-mcp-config-'));
});
after(async () => {
  rmSync(project, { recursive: true, force: true });
  await baton?.stop();
});

async function printed(words: readonly string[], env: Readonly<Record<string, string>>) {
  const program = [join(repository, 'bin/baton.mjs'), 'mcp', ...words];
  return promisify(execFile)(process.execPath, program, {
    cwd: project,
    env: { PATH: process.env.PATH, HOME: project, ...env },
  });
}

/** Parses the configuration file of each client. */
function serverIn(text: string): Server {
  if (text.startsWith('{')) {
    const { mcpServers, servers } = JSON.parse(text) as Record<string, Record<string, Server>>;
    return (mcpServers ?? servers)?.['baton'] as Server;
  }
  assert.match(text, /^\[mcp_servers\.baton\]\n/);
  const values = [...text.matchAll(/^(\w+) = (.*)$/gm)].map(([, name = '', value = '']) => [
    name,
    // An inline table of strings is JSON except for the names and the equals signs.
    JSON.parse(value.replaceAll(/([{,] ?)(\w+) = /g, '$1"$2": ')) as unknown,
  ]);
  return Object.fromEntries(values) as Server;
}

async function toolsOf(server: Server, more: Readonly<Record<string, string>>): Promise<string[]> {
  const client = new Client({ name: 'tests', version: '1' });
  await client.connect(
    new StdioClientTransport({
      command: server.command,
      args: [...server.args],
      // No PATH, like a client that was not started from a shell.
      env: { PATH: '', HOME: project, ...server.env, ...more },
      cwd: project,
    }),
  );
  try {
    return await connectionOf(client).tools();
  } finally {
    await client.close();
  }
}

for (const name of mcpClientNames) {
  const testOf = name === 'claude-code' ? test : longTest;
  testOf(
    `the configuration for ${name} starts a server of this machine's Baton, from any folder`,
    async () => {
      const { stdout, stderr } = await printed(['--config', name], { BATON_HOME: baton.home });
      const server = serverIn(stdout);
      assert.ok(isAbsolute(server.command) && isAbsolute(server.args[0] ?? ''), stdout);
      assert.match(stderr, /acts as the administrator/);
      assert.ok((await toolsOf(server, {})).includes('work_next'));
    },
  );

  testOf(
    `the configuration for ${name} holds no token, and starts a server for whom the client has one`,
    async () => {
      const { token } = await baton.participant();
      const words = ['--config', name, '--read-only'];
      const { stdout } = await printed(words, { BATON_URL: baton.url, BATON_TOKEN: token });
      assert.ok(!stdout.includes(token));
      const server = serverIn(stdout);
      const asked = server.env['BATON_TOKEN'] ?? server.env_vars?.[0] ?? '';
      assert.match(
        asked,
        /^(?:\$\{?(?:env:)?BATON_TOKEN\}?|BATON_TOKEN|\$\{input:baton-token\}|the-token-of-the-agent)$/,
      );
      const tools = await toolsOf(server, { BATON_TOKEN: token });
      assert.deepEqual([tools.includes('task_search'), tools.includes('work_next')], [true, false]);
    },
  );
}

test('a token without an address is for the Baton of this machine, and never makes an administrator', async () => {
  const { token } = await baton.participant();
  const env = { BATON_HOME: baton.home, BATON_TOKEN: token };
  const { stdout } = await printed(['--config', 'claude-code'], env);
  assert.deepEqual(serverIn(stdout).env, { BATON_URL: baton.url, BATON_TOKEN: '${BATON_TOKEN}' });
});

test('a client that is not known is refused with the names of those that are', async () => {
  const refused = await printed(['--config', 'emacs'], { BATON_HOME: baton.home }).catch(
    (error: unknown) => error,
  );
  const { code, stderr } = refused as { code: number; stderr: string };
  assert.equal(code, 2);
  assert.match(stderr, /^--config must be one of claude-code, .*; got emacs\.$/m);
});

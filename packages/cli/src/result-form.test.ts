import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Command } from 'commander';
import { buildProgram, formatCommand, listLeafCommands, otherPrograms } from './program.ts';
import { anyResult, declaredResult, listFieldNames } from './result-form.ts';
import { runCommand } from './testing/run-command.ts';

// Every command, against a service that counts each request and responds to it.

const asked: string[] = [];
const server = createServer((request, response) => {
  asked.push(`${request.method} ${request.url}`);
  request.resume();
  const isExchange = request.url?.endsWith(':exchange');
  response.writeHead(200, { 'content-type': 'application/json' });
  const answer = request.method === 'GET' ? { items: [], nextCursor: null } : written;
  response.end(JSON.stringify(isExchange ? { accessToken: 'a.b.c', expiresIn: 300 } : answer));
});
/** The response of every write. */
const written = { id: 'made', token: 'shown once', status: 'active' };
let folder: string;
let env: Record<string, string>;

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  folder = mkdtempSync(join(tmpdir(), 'baton-result-form-'));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  env = { BATON_URL: url, BATON_TOKEN: 'token', HOME: folder, XDG_CONFIG_HOME: folder };
});
after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

const output = { line: () => undefined, progress: () => undefined, isTerminal: false, columns: 80 };
const programs = otherPrograms.map(([command]) => command.replace(/ <.*/, ''));
/** Every command of the tree that is not a separate program. */
const commands = listLeafCommands(
  buildProgram({ config: { home: undefined, environment: {} }, output }),
).filter((command) => !programs.includes(wordsOf(command).join(' ')));

function wordsOf(command: Command): string[] {
  return command.parent === null ? [] : [...wordsOf(command.parent), command.name()];
}

/** The command with a value for each required argument and option. */
function lineOf(command: Command): string[] {
  const args = command.registeredArguments.filter(({ required }) => required).map(() => 'x');
  const options = command.options
    .filter(({ mandatory }) => mandatory)
    .flatMap(({ long }) => [long ?? '', 'x']);
  return [...wordsOf(command), ...args, ...options];
}

test('every command has --json and --jq, and declares the fields of its JSON', () => {
  const without = commands.filter((command) => declaredResult(command) === undefined).map(formatCommand);
  assert.deepEqual(without, ['completion SHELL']);
  for (const command of commands) {
    const result = declaredResult(command);
    if (result === undefined) continue;
    const own = new Set([...command.options, ...(command.parent?.options ?? [])].map(({ long }) => long));
    assert.ok(own.has('--json') && own.has('--jq'), formatCommand(command));
    if (result !== anyResult) assert.ok(listFieldNames(result).length > 0, formatCommand(command));
  }
  // Commands whose fields are unknown, and demos, whose results only tests read.
  assert.deepEqual(commands.filter((command) => declaredResult(command) === anyResult).map(formatCommand), [
    'demo',
    'demo live',
    'demo remove',
    'api METHOD PATH',
  ]);
});

test('no command sends a request before the fields of --json and the filter of --jq are validated', async () => {
  for (const command of commands.filter((one) => declaredResult(one) !== undefined)) {
    const line = lineOf(command);
    const term = formatCommand(command);
    asked.length = 0;
    const filter = await runCommand([...line, '--jq', '.id | nonsense('], env);
    assert.deepEqual([filter.code, asked], [2, []], `${term}: ${filter.text}`);
    assert.match(filter.text, /syntax error|compile/, term);
    if (declaredResult(command) === anyResult) continue;
    const field = await runCommand([...line, '--json', 'id,no_such_field'], env);
    assert.deepEqual([field.code, asked], [2, []], `${term}: ${field.text}`);
    assert.match(field.text, /^There is no field (?:id|no_such_field); valid fields: \w+/, term);
  }
});

test('every command rejects an invalid number before it sends a request', async () => {
  let numbers = 0;
  for (const command of commands)
    for (const { long, flags } of command.options.filter((one) => /<(?:number|seconds)>$/.test(one.flags))) {
      numbers += 1;
      for (const wrong of ['abc', '-1', '1.5', '0x10', '']) {
        asked.length = 0;
        const { code, text } = await runCommand([...lineOf(command), `${long}=${wrong}`], env);
        assert.deepEqual([code, asked], [2, []], `${formatCommand(command)} ${flags} ${wrong}: ${text}`);
        assert.match(text, /whole number|number from/, `${formatCommand(command)} ${flags}`);
      }
    }
  assert.ok(numbers > 20, String(numbers));
});

test('after a write, a field that the service omits is null', async () => {
  const { code, text } = await runCommand(['task', 'comment', 'TASK-1', 'Said.', '--json', 'id,body'], env);
  assert.equal(code, 0, text);
  assert.match(text, /^\{"id":"made","body":null\}$/m);
});

test('a filter that fails on the result of a write reports the completed write and its result', async () => {
  const written = await runCommand(['task', 'comment', 'TASK-1', 'Said.', '--jq', '.id[]'], env);
  assert.equal(written.code, 1);
  assert.match(written.text, /^The command was executed\. Its result: .*"token":"shown once"/m);
  assert.match(written.text, /^The --jq filter failed on the result: .*Cannot iterate over string/m);
  const read = await runCommand(['task', 'comments', 'TASK-1', '--jq', '.items | error'], env);
  assert.equal(read.code, 1);
  assert.doesNotMatch(read.text, /carried out/);
});

import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { startMemoryService, type TestMemory } from '@baton/coordination/testing/memory-service';
import { keepLog } from '@baton/kernel/testing/leaks';
import { type BatonProcess, baton, repository } from '@baton/testing/baton-process';

/** Lines that aren't run here: they start Baton, don't end, or have a test of their own (the demo). */
const skippedLine = /npm start|baton demo|baton worker|--follow/;

const missing = ['bash', 'curl'].find((tool) => spawnSync(tool, ['--version']).error !== undefined);
const skip = missing === undefined ? false : `${missing} is not installed`;

let folder: string;
let home: string;
let running: BatonProcess;
/** What docs/organisation.md tells knowledge to. */
let memory: TestMemory;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-documentation-'));
  home = join(folder, 'home');
  memory = await startMemoryService();
  const memorySettings = { CP_CONTEXT_PROVIDER: 'http', CP_CONTEXT_BASE_URL: memory.url };
  running = baton(['start'], { BATON_HOME: home, PORT: '0', ...memorySettings });
  await running.prints(/Baton is ready at http:\S+/);
});

after(async () => {
  running.child.kill('SIGTERM');
  await running.ended;
  keepLog(running.output());
  await memory.close();
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
});

/** The shell lines of a page from top to bottom. */
function linesOf(page: string): string {
  const blocks = readFileSync(join(repository, page), 'utf8').matchAll(/^( *)```sh\n(.*?)^ *```/gms);
  return [...blocks]
    .flatMap(([, , block = '']) => block.split('\n'))
    .filter((line) => !skippedLine.test(line))
    .join('\n')
    .replaceAll('.baton/', `${home}/`)
    .replaceAll('heads.json', join(folder, 'heads.json'));
}

for (const page of [
  'README.md',
  'docs/identity.md',
  'docs/coordination.md',
  'docs/organisation.md',
  'docs/processes.md',
  'docs/agents.md',
])
  test(`every command of ${page} works as written`, { skip }, async () => {
    const lines = linesOf(page);
    assert.ok(lines.includes('curl') && lines.includes('npx baton'));
    const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', lines], {
      cwd: repository,
      env: { ...process.env, BATON_HOME: home },
    });
    assert.ok(stdout.length > 100, stdout);
    assert.doesNotMatch(stdout, /"(detail|error)":(?!null)/);
  });

test('the small company of the demo has knowledge where there is a memory service, and the terminal shows what it says', async () => {
  const program = join(repository, 'bin', 'baton.mjs');
  const env = { ...process.env, BATON_HOME: home };
  const { stdout } = await promisify(execFile)(process.execPath, [program, 'demo', '--organisation'], {
    env,
  });
  keepLog(stdout);
  assert.match(
    stdout,
    /^Knowledge, attached to the web shop by a snapshot of demo-handbook: policy:invoices$/m,
  );
  assert.match(stdout, /^What memory says to who takes TASK-\d+:\n {2}policy:invoices: .*up to 500 EUR/m);
});

// npm test [-- part of a file's path ...]: checks the code, then runs every test against one throw-away PostgreSQL.
import { generateKeyPairSync } from 'node:crypto';
import { globSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Cluster, startCluster } from '@baton/platform/postgres/cluster';
import { StartError } from '@baton/platform/start-error';
import { check } from './check.ts';
import { runTests } from './test-run.ts';

const root = dirname(import.meta.dirname);
const testFiles = ['packages/*/src', 'e2e', 'bench', 'scripts'].map((folder) => `${folder}/**/*.test.ts`);

async function main(patterns: readonly string[]): Promise<number> {
  const isWhole = patterns.length === 0;
  const isClean = !isWhole || (await check());
  const files = globSync(testFiles, { cwd: root })
    .filter((file) => isWhole || patterns.some((pattern) => file.includes(pattern)))
    .sort();
  if (files.length === 0) {
    console.error(`No test file's path contains ${patterns.join(' or ')}.`);
    return 1;
  }
  const stage = await setStage();
  // The first Ctrl-C ends the tests and cleans up; npm may pass it on more than once.
  const abort = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => abort.abort());
  try {
    const { passed, failed, skipped } = await runTests(root, files, abort.signal);
    const lies =
      isWhole && failed === 0 && !abort.signal.aborted ? await truthProblems(stage.truthDirectory) : [];
    for (const lie of lies) console.log(`✘ truth: ${lie}`);
    const leaks = abort.signal.aborted ? 0 : await searchLeaks(stage.leakDirectory, isWhole && failed === 0);
    if (skipped.length > 0)
      console.log(`\nSKIPPED, NOT TESTED:\n${skipped.map((name) => `  ${name}`).join('\n')}`);
    if (!isClean) console.log('\nThe checks at the top found something.');
    if (abort.signal.aborted) console.log('\nStopped before the end.');
    const failures = failed + lies.length + leaks;
    console.log(`\n${passed} passed, ${failures} failed, ${skipped.length} skipped`);
    return failures === 0 && isClean && passed > 0 && !abort.signal.aborted ? 0 : 1;
  } finally {
    await stage.clear();
  }
}

/** One cluster for the run, unless BATON_TEST_POSTGRES already names one; a key; the folders of the truth and the leak test. */
async function setStage() {
  const directory = await mkdtemp(join(tmpdir(), 'baton-test-'));
  const truthDirectory = join(directory, 'truth');
  await mkdir(truthDirectory);
  process.env.BATON_TRUTH_DIR = truthDirectory;
  const leakDirectory = join(directory, 'leaks');
  await mkdir(leakDirectory);
  process.env.BATON_LEAK_DIR = leakDirectory;
  const keyFile = join(directory, 'signing-key.pem');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 3072 });
  await writeFile(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  process.env.BATON_TEST_SIGNING_KEY_FILE = keyFile;
  let cluster: Cluster | undefined;
  if (!process.env.BATON_TEST_POSTGRES) {
    cluster = await startCluster({
      directory: join(directory, 'postgres'),
      durable: false,
      say: console.log,
    });
    process.env.BATON_TEST_POSTGRES = cluster.url('postgres');
  }
  return {
    truthDirectory,
    leakDirectory,
    async clear() {
      await cluster?.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** What the whole run raised without declaring it, or declared without raising it. */
async function truthProblems(directory: string): Promise<string[]> {
  // Only now: it loads both services, and a run of one file must work while another is broken.
  const { checkTruth } = await import('./truth.ts');
  return checkTruth(directory);
}

/** Prints where a secret was found, or how much was searched without finding one. Returns the number of findings. */
async function searchLeaks(directory: string, isWhole: boolean): Promise<number> {
  const { checkLeaks } = await import('./leaks.ts');
  const allowed = JSON.parse(await readFile(join(import.meta.dirname, 'leaks.allow.json'), 'utf8'));
  const { findings, notes, secrets, bytes } = checkLeaks(directory, isWhole, allowed);
  for (const finding of findings) console.log(`✘ leak: ${finding}`);
  for (const note of notes) console.log(`leaks: searched only ${note}`);
  const searched = `${secrets} secrets searched in ${Math.ceil(bytes / 1e6)} MB of logs and tables`;
  console.log(`leaks: ${searched}: ${findings.length === 0 ? 'none' : `${findings.length} found`}`);
  return findings.length;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

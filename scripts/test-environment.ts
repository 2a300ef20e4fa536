import { generateKeyPairSync } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Cluster, startCluster } from '@baton/platform/postgres/cluster';

/**
 * What the test files share: one cluster for the run, unless BATON_TEST_POSTGRES already names one; a signing key; the
 * folders of the truth and the leak test; a cache of compiled code, which saves each file a third of its start.
 */
export async function prepareEnvironment() {
  const directory = await mkdtemp(join(tmpdir(), 'baton-test-'));
  const truthDirectory = join(directory, 'truth');
  await mkdir(truthDirectory);
  process.env.BATON_TRUTH_DIR = truthDirectory;
  const leakDirectory = join(directory, 'leaks');
  await mkdir(leakDirectory);
  process.env.BATON_LEAK_DIR = leakDirectory;
  process.env.NODE_COMPILE_CACHE ??= await compileCache(directory);
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

/** Kept between runs in the account's own folder, since others must not write it; without one, for this run. */
async function compileCache(directory: string): Promise<string> {
  const kept = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'baton', 'compiled');
  try {
    await mkdir(kept, { recursive: true, mode: 0o700 });
    return kept;
  } catch {
    return join(directory, 'compiled');
  }
}

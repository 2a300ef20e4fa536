import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';

/** The sources of the console's web application. */
export const webFolder = join(import.meta.dirname, '..', 'web');
/** The SDK, which the web application bundles. */
const sdkFolder = join(import.meta.dirname, '..', '..', 'sdk', 'src');
/** The built console in the npm package; absent in a checkout. */
const shippedFolder = join(import.meta.dirname, '..', 'built');
/** The cache that all processes running from this checkout share. */
const checkoutCache = join(import.meta.dirname, '..', '..', '..', 'node_modules', '.cache', 'console');
const packageFile = join(import.meta.dirname, '..', 'package.json');
const buildMsMax = 120_000;

/**
 * The folder of the built console: from the npm package, or from an earlier build of the same sources. Otherwise it is
 * built now, in a child process, which takes some seconds.
 * @param ownCache folder for builds if the checkout is not writable; older builds are deleted
 * @throws Error with the last lines of the build's output
 */
export async function builtConsole(ownCache: string, say: (line: string) => void): Promise<string> {
  if (existsSync(shippedFolder)) return shippedFolder;
  const hash = contentHash();
  const built = [checkoutCache, ownCache]
    .map((cache) => join(cache, hash))
    .find((path) => existsSync(join(path, 'index.html')));
  if (built !== undefined) return built;
  const cache = isWritable(checkoutCache) ? checkoutCache : ownCache;
  const folder = join(cache, hash);
  say('Building the console. This takes some seconds, once ...');
  mkdirSync(cache, { recursive: true });
  const building = mkdtempSync(join(cache, 'building-'));
  try {
    await runBuild(building);
    // Another process may have finished first, with the same files.
    if (!existsSync(folder)) renameSync(building, folder);
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
  for (const name of readdirSync(cache))
    if (join(cache, name) !== folder && !name.startsWith('building-'))
      rmSync(join(cache, name), { recursive: true, force: true });
  return folder;
}

/** Whether the folder is writable; it is created if necessary. */
function isWritable(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Hashes the sources of the build, without tests, which don't change it. */
function contentHash(): string {
  const hash = createHash('sha256').update(readFileSync(packageFile));
  for (const folder of [webFolder, sdkFolder])
    for (const file of sourcesIn(folder))
      hash.update(file.slice(folder.length)).update('\0').update(readFileSync(file));
  return hash.digest('hex').slice(0, 20);
}

function sourcesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((file) => !/[\\/]testing[\\/]|\.test\.(ts|json)$/.test(file))
    .sort();
}

function runBuild(outDir: string): Promise<void> {
  return new Promise((done, refuse) => {
    const main = join(import.meta.dirname, 'build.main.ts');
    const child = spawn(process.execPath, [main, outDir], {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: buildMsMax,
    });
    let printed = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text: Buffer) => {
        printed = (printed + text.toString()).slice(-4000);
      });
    child.on('error', refuse);
    child.on('close', (code) => {
      if (code === 0) done();
      else refuse(new Error(`The console could not be built (exit code ${code}):\n${printed}`));
    });
  });
}

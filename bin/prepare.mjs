// Makes a checkout ready to run: installs the packages of the lockfile and a Node that runs TypeScript. Where npm
// installed Baton as a package, its packages are there and its programs are JavaScript, but they need the same Node.
// Plain JavaScript for Node 20 and up; everything else in this repository runs on Node 24.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { takeLock } from './lock.mjs';
import { reportSource } from './package-source.mjs';

/** The checkout, or the installed package. */
const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** `npm run build` leaves the compiler's settings out. */
const isCheckout = existsSync(join(root, 'tsconfig.json'));

const nodeMajorMin = 24;
const installWaitMs = 200;
const installWaitsMax = (15 * 60 * 1000) / installWaitMs;

/** The file of one of Baton's programs, which is named without its ending. */
export const programFile = (name) => join(root, `${name}.${isCheckout ? 'ts' : 'js'}`);

/** Its message is printed as it is, without a stack. */
export class PlainError extends Error {}

/**
 * Installs what is missing.
 * @returns the path of a Node that runs Baton's programs.
 * @throws PlainError with one sentence about what to do.
 */
export async function prepare() {
  if (isCheckout)
    await ensureInstalled(root, 'Installing the packages that package-lock.json names (a few seconds) ...');
  if (Number(process.versions.node.split('.')[0]) >= nodeMajorMin) return process.execPath;
  const toolchain = toolchainFolder();
  const notice = `This is Node ${process.versions.node}; getting Node ${nodeMajorMin} through npm (once) ...`;
  await ensureInstalled(toolchain, notice);
  const node = findNode(join(toolchain, 'node_modules'));
  if (node === undefined)
    throw new PlainError(
      `There is no Node ${nodeMajorMin} for ${process.platform}-${process.arch} on npm; install Node ${nodeMajorMin} or newer and try again.`,
    );
  return node;
}

/**
 * Where Node is installed: beside the lockfile that names it, or, where this account may not write there because
 * another one installed Baton, in a folder of its own.
 */
function toolchainFolder() {
  const shipped = join(root, 'toolchain');
  if (isCheckout || isInstalled(shipped) || isWritable(shipped)) return shipped;
  const home = homedir();
  if (!isWritable(home)) return shipped;
  const own = join(home, '.cache', 'baton', `toolchain-${stampOf(shipped).slice(0, 16)}`);
  mkdirSync(own, { recursive: true, mode: 0o700 });
  for (const name of ['package.json', 'package-lock.json'])
    copyFileSync(join(shipped, name), join(own, name));
  return own;
}

function isWritable(folder) {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function findNode(modules) {
  const name = process.platform === 'win32' ? 'bin/node.exe' : 'bin/node';
  const packages = existsSync(modules)
    ? readdirSync(modules).filter((entry) => entry.startsWith('node-'))
    : [];
  return packages.map((entry) => join(modules, entry, name)).find((path) => existsSync(path));
}

async function ensureInstalled(folder, notice) {
  for (let waits = 0; !isInstalled(folder); waits += 1) {
    const lock = lockFor(folder);
    if (lock.release === undefined) {
      if (waits === 0) say(`Process ${lock.holderPid} is installing packages here; waiting for it ...`);
      if (waits === installWaitsMax)
        throw new PlainError(
          `Process ${lock.holderPid} has been installing for 15 minutes; stop it and try again.`,
        );
      await new Promise((resolve) => setTimeout(resolve, installWaitMs));
      continue;
    }
    try {
      if (isInstalled(folder)) return;
      say(notice);
      await npmCi(folder);
      writeFileSync(stampPath(folder), stampOf(folder));
    } finally {
      lock.release();
    }
  }
}

function lockFor(folder) {
  try {
    return takeLock(join(folder, '.baton-installing'));
  } catch (error) {
    if (!['EACCES', 'EROFS', 'EPERM'].includes(error.code)) throw error;
    throw new PlainError(
      `Packages must be installed in ${folder}, but you may not write there: run this as the folder's owner, or in a copy of your own.`,
    );
  }
}

const stampPath = (folder) => join(folder, 'node_modules', '.baton-installed');

/** What an installation must match: the lockfile's text, and the platform, since packages hold binaries. */
function stampOf(folder) {
  const lockfile = readFileSync(join(folder, 'package-lock.json'));
  return `${createHash('sha256').update(lockfile).digest('hex')} ${process.platform}-${process.arch}\n`;
}

function isInstalled(folder) {
  if (readText(stampPath(folder)) === stampOf(folder)) return true;
  if (!npmInstalledAll(folder)) return false;
  try {
    writeFileSync(stampPath(folder), stampOf(folder));
  } catch {
    // A folder of another account: it is compared again next time.
  }
  return true;
}

/**
 * Whether npm's own record of node_modules has all that the lockfile requires: then `npm ci` was run by hand.
 * Optional packages are other platforms' binaries, or their absence is reported by the code that needs them.
 */
function npmInstalledAll(folder) {
  const record = readText(join(folder, 'node_modules', '.package-lock.json'));
  if (record === undefined) return false;
  const present = JSON.parse(record).packages ?? {};
  const wanted = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')).packages;
  const isThere = ([path, { version, integrity }]) =>
    present[path] !== undefined && present[path].version === version && present[path].integrity === integrity;
  return Object.entries(wanted)
    .filter(([path, entry]) => path.startsWith('node_modules/') && !entry.optional)
    .every(isThere);
}

function readText(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** `npm ci` in `folder`. Its output goes to standard error: standard output belongs to the command itself. */
function npmCi(folder) {
  const args = [
    'ci',
    '--ignore-scripts',
    '--include=dev',
    '--include=optional',
    '--no-audit',
    '--no-fund',
    '--no-update-notifier',
  ];
  return new Promise((resolve, reject) => {
    const npm = spawn('npm', [...args, '--loglevel=error'], {
      cwd: folder,
      env: { ...process.env, ...npmCache() },
      stdio: ['ignore', 2, 2],
      shell: process.platform === 'win32',
    });
    const stopReporting = reportSource(folder, say);
    npm.on('error', () => {
      stopReporting();
      reject(new PlainError('npm was not found on the PATH; it comes with Node.js.'));
    });
    npm.on('exit', (code) => {
      stopReporting();
      if (code === 0) resolve();
      else reject(new PlainError(`npm ci failed in ${folder}; its message is above.`));
    });
  });
}

/**
 * An account without a home it may write to (nobody, a container's user) gets npm's cache under the temporary folder.
 */
function npmCache() {
  if (process.env.npm_config_cache !== undefined) return {};
  if (isWritable(homedir())) return {};
  const cache = join(tmpdir(), `baton-npm-${userInfo().uid}`);
  mkdirSync(cache, { recursive: true, mode: 0o700 });
  return { npm_config_cache: cache };
}

/** One line for the person. */
export function say(line) {
  process.stderr.write(`${line}\n`);
}

// A lock that one living process holds, as a folder on disk: it needs no cleaning up after kill -9, and works on every
// file system and every Node from 20 up. Used while installing and for Baton's home folder.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

const pauseMs = 50;
const attemptsMax = 200;
/** An empty folder this old was left by a process that died between two calls. */
const emptyStaleMs = 2000;

/**
 * Takes the lock `directory`, whose parent must exist. The folder holds one file that names its owner. The lock of a
 * dead owner is broken by unlinking that file, in which only one of several processes succeeds, and the folder is
 * removed only while it is empty. So no process can break a lock that a living one has just taken.
 * @returns `release` when it was taken, or `holderPid`, the process that has it.
 * @throws the file system's error when the folder can't be made.
 */
export function takeLock(directory) {
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    if (succeeds(() => mkdirSync(directory, { mode: 0o700 }), 'EEXIST')) {
      const name = `${process.pid}-${processStamp(process.pid)}-${randomBytes(6).toString('hex')}`;
      const written = succeeds(
        () => writeFileSync(join(directory, name), '', { flag: 'wx', mode: 0o600 }),
        'ENOENT',
      );
      if (written && isAlone(directory, name)) return { release: () => release(directory, name) };
      // Another process considered this folder stale and created it again: it has, or will have, two files.
      if (written) release(directory, name);
      sleep(Math.random() * pauseMs);
      continue;
    }
    const owner = ownerOf(directory);
    if (owner === undefined) {
      sleep(pauseMs);
    } else if (processStamp(owner.pid) === owner.stamp) {
      return { holderPid: owner.pid };
    } else {
      release(directory, owner.name);
    }
  }
  throw new Error(
    `The lock ${directory} could neither be taken nor checked; remove that folder if no Baton runs.`,
  );
}

/** Whether no other process wrote into the folder. Of two that did, the later one sees both files. */
function isAlone(directory, name) {
  const names = readdirSync(directory);
  return names.length === 1 && names[0] === name;
}

/** The owner by its file; undefined while the folder is empty or missing. */
function ownerOf(directory) {
  try {
    const [name] = readdirSync(directory);
    if (name !== undefined) {
      const [pid, stamp] = name.split('-');
      return { name, pid: Number(pid), stamp };
    }
    if (Date.now() - statSync(directory).mtimeMs > emptyStaleMs) rmdirSync(directory);
  } catch (error) {
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(error.code)) throw error;
  }
  return undefined;
}

function release(directory, name) {
  succeeds(() => unlinkSync(join(directory, name)), 'ENOENT');
  succeeds(() => rmdirSync(directory), 'ENOENT', 'ENOTEMPTY', 'EEXIST');
}

/** True when `action` returns, false when it throws one of `codes`. */
function succeeds(action, ...codes) {
  try {
    action();
    return true;
  } catch (error) {
    if (codes.includes(error.code)) return false;
    throw error;
  }
}

/**
 * The start of the process, in a form that distinguishes it from a later process with the same id (also after a
 * reboot); undefined when there is no such living process.
 */
export function processStamp(pid) {
  if (process.platform === 'linux') {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ');
      if (fields[0] === 'Z') return undefined;
      const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').replaceAll('-', '').slice(0, 12);
      return `${boot}${fields[19]}`;
    } catch {
      return undefined;
    }
  }
  try {
    const began = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
    return began.replaceAll(/\W/g, '') || undefined;
  } catch {
    return undefined;
  }
}

function sleep(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

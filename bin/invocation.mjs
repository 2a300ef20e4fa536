// The command that runs `baton` from the current folder. npm's registry has a different package `baton`, which
// `npx baton` downloads and runs if no Baton is installed.
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('baton.mjs', import.meta.url));

/**
 * The words that run this Baton's command line, for messages: `npx baton` only where npm finds this Baton, else `baton`
 * where that is on the PATH, else the path of the program.
 * @param {{ folder?: string, path?: string }} [where] the current folder and PATH, of this process without it
 */
export function invocation({ folder = process.cwd(), path = process.env.PATH ?? '' } = {}) {
  if (isFoundByNpx(folder)) return 'npx baton';
  if (path.split(delimiter).some((entry) => entry !== '' && isProgram(join(entry, 'baton')))) return 'baton';
  return `node ${inShell(program)}`;
}

/** The path of the program, for the configuration of other programs. */
export const programPath = program;

/** npm takes the nearest folder with a package or with packages, and doesn't search further up for programs. */
function isFoundByNpx(folder) {
  for (let at = resolve(folder); ; at = dirname(at)) {
    if (existsSync(join(at, 'package.json')) || existsSync(join(at, 'node_modules')))
      return isProgram(join(at, 'node_modules', '.bin', 'baton')) || isNamedBy(at);
    if (at === dirname(at)) return false;
  }
}

/** npm also runs the program of the package in whose folder it is called, as in a checkout. */
function isNamedBy(folder) {
  try {
    const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return typeof bin?.baton === 'string' && isProgram(join(folder, bin.baton));
  } catch {
    return false;
  }
}

function isProgram(path) {
  try {
    return realpathSync(path) === realpathSync(program);
  } catch {
    return false;
  }
}

/** One word for a shell. */
function inShell(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

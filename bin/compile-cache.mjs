// Loaded before each of Baton's programs: Node keeps what it compiled, which halves the start of a command. Not by an environment
// variable, which the commands that an agent runs would inherit.
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Files of compiled code of one version of Node; a checkout with all that its tests load makes 4,000. */
const filesMax = 20_000;

try {
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'baton', 'compiled');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { uid, mode } = statSync(folder);
  // What others can write there would be run here.
  const isOwn = process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
  if (isOwn) {
    for (const version of readdirSync(folder))
      if (readdirSync(join(folder, version)).length > filesMax)
        rmSync(join(folder, version), { recursive: true, force: true });
    enableCompileCache(folder);
  }
} catch {
  // Without such a folder each start compiles anew.
}

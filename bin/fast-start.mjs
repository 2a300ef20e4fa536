// Loaded before each of Baton's programs, for a fast start. Not by an environment variable, which the commands that an
// agent runs would inherit.
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { enableCompileCache, registerHooks } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';

/** Files of compiled code of one version of Node; a checkout with all that its tests load makes 4,000. */
const filesMax = 20_000;

// Node 24.21 can hang forever when it exits: it waits for the compiler thread, which waits for the main thread to
// collect garbage (nodejs/node#54918). A `baton backup` of the tests did, in Sparkplug's thread. A running compilation
// isn't affected, and Maglev's thread can block in the same way, so this only makes it rarer. Sparkplug on the main
// thread makes no start slower.
setFlagsFromString('--no-concurrent-sparkplug');
keepCompiled();
findModulesFast();

/** Node caches compiled code, which halves the start of a command. */
function keepCompiled() {
  try {
    const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'baton', 'compiled');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { uid, mode } = statSync(folder);
    // Code that others write there would run here.
    const isOwn = process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
    if (isOwn) {
      for (const version of readdirSync(folder))
        if (readdirSync(join(folder, version)).length > filesMax)
          rmSync(join(folder, version), { recursive: true, force: true });
      enableCompileCache(folder);
    }
  } catch {
    // Without such a folder each start compiles again.
  }
}

/**
 * Resolves the modules of Baton's packages. Node would search the disk for each import, which is a quarter of
 * a service's start: 900 modules hold 7,000 imports. A relative one names its file exactly, and any other one leads to
 * the same file from everywhere in a package.
 */
function findModulesFast() {
  const packages = new URL('../packages/', import.meta.url).href;
  const formats = { '.ts': 'module-typescript', '.js': 'module' };
  const found = new Map();
  registerHooks({
    resolve(specifier, context, next) {
      const { parentURL, conditions } = context;
      if (!parentURL?.startsWith(packages) || conditions?.includes('require'))
        return next(specifier, context);
      const format = formats[specifier.slice(-3)];
      if (specifier.startsWith('.'))
        return format === undefined
          ? next(specifier, context)
          : { url: new URL(specifier, parentURL).href, format, shortCircuit: true };
      const owner = parentURL.slice(packages.length, parentURL.indexOf('/', packages.length));
      const key = `${owner} ${specifier}`;
      if (!found.has(key)) found.set(key, next(specifier, context));
      return { ...found.get(key), shortCircuit: true };
    },
  });
}

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { repository } from '@baton/testing/baton-process';

/** Third-party libraries, installed in a separate folder. */
export const clientsFolder = join(repository, 'e2e/clients');

/** The reason why these libraries are missing; false if all are installed. */
export function withoutClients(...names: readonly string[]): string | false {
  const missing = names.filter((name) => !existsSync(join(clientsFolder, 'node_modules', name)));
  return (
    missing.length > 0 && `${missing.join(', ')} not installed: npm ci --ignore-scripts --prefix e2e/clients`
  );
}

/** Imports a module of one of them, like a program in the same folder. */
export async function loadClient<Module>(specifier: string): Promise<Module> {
  const loader = pathToFileURL(join(clientsFolder, 'load.mjs')).href;
  const { load } = (await import(loader)) as { load: (specifier: string) => Promise<Module> };
  return load(specifier);
}

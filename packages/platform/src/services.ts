import { createCoordination } from '@baton/coordination/app/app';
import { startWorker } from '@baton/coordination/app/worker';
import { createIdentity } from '@baton/identity/app/app';
import { SettingError } from '@baton/kernel/config';
import type { Environment } from './config.ts';
import type { EdgeServices } from './edge.ts';
import { StartError } from './start-error.ts';

export interface Services extends EdgeServices {
  readonly worker: { close(): Promise<void> };
}

/**
 * Starts both services and the worker in this process.
 * @throws SettingError or StartError; none is left running then
 */
export async function startServices(env: Environment): Promise<Services> {
  const started: { close(): Promise<void> }[] = [];
  const keep = <Part extends { close(): Promise<void> }>(part: Part) => {
    started.push(part);
    return part;
  };
  try {
    const identity = keep(await createIdentity({ env }));
    const coordination = keep(await createCoordination({ env }));
    return { identity, coordination, worker: keep(await startWorker({ env })) };
  } catch (cause) {
    await Promise.allSettled(started.map((part) => part.close()));
    if (cause instanceof SettingError) throw cause;
    throw new StartError(`The services could not be started: ${(cause as Error).message}`, { cause });
  }
}

/**
 * The services' settings: what the person gave, and for the rest what the default run decides.
 * @param decided settings by name; one that the person gave, under any of its names, is left out
 */
export function serviceEnvironment(env: Environment, decided: Readonly<Record<string, string>>): Environment {
  const given = new Set(
    Object.keys(env)
      .filter((name) => (env[name] ?? '') !== '')
      .map((name) => name.toUpperCase()),
  );
  const ownKey = ['IAM_SIGNING_KEY_FILE', 'IAM_SIGNING_PRIVATE_KEY', 'IAM_SIGNING_PRIVATE_KEY_FILE'];
  const hasOwnKey = ownKey.some((name) => given.has(name));
  const isLeftOut = (name: string) => given.has(name) || (hasOwnKey && name.startsWith('IAM_SIGNING_'));
  return { ...env, ...Object.fromEntries(Object.entries(decided).filter(([name]) => !isLeftOut(name))) };
}

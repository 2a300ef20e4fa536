import { type Coordination, createCoordination } from '@baton/coordination/app/app';
import { startContextAdapter } from '@baton/coordination/app/context-adapter/context-adapter';
import { createMeasures } from '@baton/coordination/app/health/measures';
import { startWorker } from '@baton/coordination/app/worker';
import { createIdentity } from '@baton/identity/app/app';
import { SettingError } from '@baton/kernel/process/config';
import type { Environment } from './config.ts';
import type { RoutedServices } from './router.ts';
import { StartError } from './start-error.ts';

export interface Services extends RoutedServices {
  readonly worker: { close(): Promise<void> };
  readonly contextAdapter: { close(): Promise<void> };
}

/**
 * Starts both services, the worker and the context adapter in this process.
 * @throws SettingError or StartError, after closing those that were started
 */
export async function startServices(env: Environment): Promise<Services> {
  const started: { close(): Promise<void> }[] = [];
  const track = <Part extends { close(): Promise<void> }>(part: Part) => {
    started.push(part);
    return part;
  };
  try {
    let coordination: Coordination | undefined;
    const onRevocation = async () => coordination?.refreshRevocations();
    const identity = track(await createIdentity({ env, onRevocation }));
    // One process: its /metrics counts what the worker does, too.
    const measures = createMeasures(true);
    coordination = track(await createCoordination({ env, measures }));
    const worker = track(await startWorker({ env, measures }));
    const contextAdapter = track(await startContextAdapter({ env, measures, isWatched: false }));
    return { identity, coordination, worker, contextAdapter };
  } catch (cause) {
    await Promise.allSettled(started.map((part) => part.close()));
    if (cause instanceof SettingError) throw cause;
    throw new StartError(`The services could not be started: ${(cause as Error).message}`, { cause });
  }
}

/**
 * What the services may reach over loopback: Baton's own port only. Other programs of this machine may trust whoever comes
 * over loopback, and the addresses of providers and of connection types come through the API.
 */
export function ownHosts(localUrl: string): string[] {
  const { hostname, port } = new URL(localUrl);
  return [...new Set([hostname, 'localhost'])].map((name) => `${name}:${port || '80'}`);
}

/**
 * The services' environment: the user's, completed by the default run's settings.
 * @param defaults settings by name; those that the user set, in any case, are left out
 */
export function serviceEnvironment(
  env: Environment,
  defaults: Readonly<Record<string, string>>,
): Environment {
  const given = new Set(
    Object.keys(env)
      .filter((name) => (env[name] ?? '') !== '')
      .map((name) => name.toUpperCase()),
  );
  const ownKey = ['IAM_SIGNING_KEY_FILE', 'IAM_SIGNING_PRIVATE_KEY', 'IAM_SIGNING_PRIVATE_KEY_FILE'];
  const hasOwnKey = ownKey.some((name) => given.has(name));
  const isLeftOut = (name: string) => given.has(name) || (hasOwnKey && name.startsWith('IAM_SIGNING_'));
  return { ...env, ...Object.fromEntries(Object.entries(defaults).filter(([name]) => !isLeftOut(name))) };
}

import type { RunnerSettings } from './settings.ts';

/**
 * Variables of Baton's own programs: they may hold secrets, which the command must not get. With GitHub's variables, it
 * could request the identity of the job.
 */
const ownVariables = /^(BATON|IAM|CP)_|^ACTIONS_ID_TOKEN_REQUEST_/;

/** The secrets that the runner has and the command doesn't get. */
export function ownSecretsOf({ token, environment }: RunnerSettings): string[] {
  const { BATON_IDENTITY_TOKEN, ACTIONS_ID_TOKEN_REQUEST_TOKEN } = environment;
  return [token, BATON_IDENTITY_TOKEN, ACTIONS_ID_TOKEN_REQUEST_TOKEN].flatMap((secret) => secret || []);
}

/** The runner's environment without its own variables. */
export function commandEnvironmentOf(
  environment: RunnerSettings['environment'],
): RunnerSettings['environment'] {
  // Compared in upper case, as the settings are read: a dotless i also becomes an I.
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => !ownVariables.test(name.toUpperCase())),
  );
}

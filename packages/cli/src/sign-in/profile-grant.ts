import { closeSync, openSync, rmSync, statSync } from 'node:fs';
import type { Credential } from '@baton/sdk';
import { invocation } from '../../../../bin/invocation.mjs';
import type { CliConfig } from '../config.ts';
import { exitCodes } from '../error-text.ts';
import { PlainError } from '../plain-error.ts';
import { type ProfileGrant, profilesFile, readProfiles, writeProfiles } from '../profiles.ts';
import {
  clientId,
  type GrantedTokens,
  OauthFailure,
  postForm,
  requestTokens,
} from './authorization-server.ts';

const lockWaitMs = 50;
const lockWaitMsMax = 20_000;
/** A lock that a killed command left behind. */
const lockAgeMsMax = 30_000;
const usedUntilMs = 30_000;
/** For 30 s, identity returns the same tokens for a repeated refresh, so a lost response requires no new sign-in. */
const [repeatWaitMs, repeatAgeMsMax] = [1000, 10_000];

export function grantOf(tokenEndpoint: string, tokens: GrantedTokens): ProfileGrant {
  return {
    tokenEndpoint,
    refreshToken: tokens.refreshToken,
    accessToken: tokens.accessToken,
    expiresAtMs: Date.now() + tokens.expiresInSeconds * 1000,
  };
}

/**
 * The credential of a profile that was signed in through the browser. Commands share its access token. Only one of them
 * at a time refreshes it, because using a refresh token twice ends the sign-in.
 */
export function credentialOfGrant(name: string, config: CliConfig): Credential {
  return {
    async accessToken() {
      const grant = usable(name, config) ?? (await withLock(config, () => refresh(name, config)));
      const expiresIn = Math.max(0, Math.floor((grant.expiresAtMs - Date.now()) / 1000));
      return { accessToken: grant.accessToken, expiresIn };
    },
  };
}

/** Ends a sign-in on the server. @returns whether the server has confirmed it */
export async function revokeGrant({ tokenEndpoint, refreshToken }: ProfileGrant): Promise<boolean> {
  const address = tokenEndpoint.replace(/\/token$/, '/revoke');
  return postForm(address, { token: refreshToken, client_id: clientId }).then(
    () => true,
    () => false,
  );
}

function usable(name: string, config: CliConfig): ProfileGrant | undefined {
  const grant = readProfiles(config).profiles[name]?.grant;
  return grant !== undefined && grant.expiresAtMs - usedUntilMs > Date.now() ? grant : undefined;
}

async function refresh(name: string, config: CliConfig): Promise<ProfileGrant> {
  // Another command may have refreshed the access token while this one waited.
  const fresh = usable(name, config);
  if (fresh !== undefined) return fresh;
  const { tokenEndpoint, refreshToken } = readProfiles(config).profiles[name]?.grant ?? signedOut(name);
  try {
    const form = { grant_type: 'refresh_token', refresh_token: refreshToken };
    const grant = grantOf(tokenEndpoint, await requestTokensTwice(tokenEndpoint, form));
    store(name, refreshToken, grant, config);
    return grant;
  } catch (error) {
    if (error instanceof OauthFailure && error.code === 'invalid_grant') signedOut(name);
    throw error;
  }
}

/** Repeats a request that failed quickly and was not refused, because the server may have processed it. */
async function requestTokensTwice(
  tokenEndpoint: string,
  form: Readonly<Record<string, string>>,
): Promise<GrantedTokens> {
  const startedMs = performance.now();
  try {
    return await requestTokens(tokenEndpoint, form);
  } catch (error) {
    const isRefusal =
      error instanceof OauthFailure && !/^(temporarily_unavailable|server_error|status 5)/.test(error.code);
    if (isRefusal || performance.now() - startedMs > repeatAgeMsMax) throw error;
    await new Promise((done) => setTimeout(done, repeatWaitMs));
    return requestTokens(tokenEndpoint, form);
  }
}

/**
 * Reads the profiles again, because other commands may have signed in or out meanwhile: a profile that was removed or
 * replaced must not be written back.
 */
function store(name: string, refreshToken: string, grant: ProfileGrant, config: CliConfig): void {
  const { current, profiles } = readProfiles(config);
  const profile = profiles[name];
  if (profile?.grant?.refreshToken !== refreshToken) return;
  writeProfiles(config, { current, profiles: { ...profiles, [name]: { ...profile, grant } } });
}

function signedOut(name: string): never {
  throw new PlainError(`The sign-in of the profile ${name} has ended. Run ${invocation()} login again.`, {
    exitCode: exitCodes.notSignedIn,
  });
}

/** Runs `work` while no other command of this user does. */
async function withLock<Value>(config: CliConfig, work: () => Promise<Value>): Promise<Value> {
  const path = `${profilesFile(config)}.lock`;
  const endsMs = performance.now() + lockWaitMsMax;
  while (!takeLock(path)) {
    if (performance.now() > endsMs)
      throw new PlainError(
        `Another command has locked ${path}. Delete the file if no other command is running.`,
      );
    await new Promise((done) => setTimeout(done, lockWaitMs));
  }
  try {
    return await work();
  } finally {
    rmSync(path, { force: true });
  }
}

function takeLock(path: string): boolean {
  try {
    closeSync(openSync(path, 'wx', 0o600));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const ageMs = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (ageMs > lockAgeMsMax) rmSync(path, { force: true });
    return false;
  }
}

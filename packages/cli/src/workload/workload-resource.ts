import type { identity } from '@baton/sdk';
import { invocation } from '../../../../bin/invocation.mjs';
import type { Access } from '../access.ts';
import { exitCodes } from '../error-text.ts';
import { PlainError } from '../plain-error.ts';
import { findIdentityPrincipalId, resolveTenant } from '../resources/people.ts';
import { type Called, defineColumns, type Item, type Resource } from '../resources/resource.ts';
import { fieldsNamed, responseOf } from '../result-form.ts';
import { readKeySet, readPreset } from './workload-presets.ts';

/** `baton workload`: which pipelines and pods act as which principals, without a stored secret. */

const usualScopes = ['control-plane:read', 'control-plane:write'];

export const workloadResource: Resource = {
  noun: 'workload',
  summary: 'workload rules: tokens of CI jobs and clusters that act as a principal, for the operator',
  list: {
    operation: 'identity.listWorkloadRules',
    columns: [
      ...defineColumns<identity.WorkloadRule>(
        ['PROVIDER', 'identityProvider'],
        ['RULE', 'key'],
        ['STATUS', 'status'],
        ['LAST USED', 'lastUsedAt'],
      ),
      ...defineColumns<identity.WorkloadRule>(['PRINCIPAL', 'principalId'], ['CLAIMS', 'claims']),
    ],
    filters: [],
    async *call(called) {
      const tenant = resolveTenant(called);
      const { identityProviders } = called.baton.identity;
      for (const { key } of await identityProviders.list(tenant))
        yield* await identityProviders.listWorkloadRules(tenant, key);
    },
  },
  view: {
    argument: 'provider/rule',
    operation: 'identity.getWorkloadRule',
    call: (called) => called.baton.identity.identityProviders.getWorkloadRule(...pathOf(called)),
  },
  acts: [
    {
      usage: 'add <principal>',
      summary: 'let the jobs of a repository, or the pods of a service account, act as a principal',
      result: responseOf('identity.createWorkloadRule'),
      options: [
        ['--preset <platform>', 'github, gitlab, kubernetes or spiffe'],
        ['--repository <owner/name>', 'github: the repository'],
        ['--repository-id <id>', 'github: its id, if the repository is private'],
        ['--project-id <id>', 'gitlab: the id of the project'],
        [
          '--ref <ref>',
          'github and gitlab: the branch; refs/heads/main or main by default; a branch that ends with * is a prefix',
        ],
        ['--namespace <name>', 'kubernetes: the namespace of the service account'],
        ['--service-account <name>', 'kubernetes: the service account'],
        ['--spiffe-id <id>', 'spiffe: the identity of the workload'],
        ['--issuer <address>', 'the issuer of the tokens; necessary for kubernetes and spiffe'],
        ['--keys <file>', 'a JWKS document, if identity can not reach the issuer'],
        ['--audience <text>', 'the audience of the tokens; the public address of Baton by default'],
        ['--rule <key>', 'the name of the rule; derived from the workload by default'],
        ['--read-only', 'grant no scope to write'],
        ['--single-use', 'accept each token once'],
      ],
      call: addRule,
      says: addedText,
    },
    {
      usage: 'disable <provider/rule>',
      summary: 'disable a rule, and revoke its access tokens',
      result: responseOf('identity.disableWorkloadRule'),
      call: (called) => called.baton.identity.identityProviders.disableWorkloadRule(...pathOf(called)),
      says: ({ key }) => `Rule ${String(key)} is disabled, and its access tokens are revoked.`,
    },
    {
      usage: 'enable <provider/rule>',
      summary: 'enable a rule',
      result: responseOf('identity.enableWorkloadRule'),
      call: (called) => called.baton.identity.identityProviders.enableWorkloadRule(...pathOf(called)),
      says: ({ key }) => `Rule ${String(key)} is enabled.`,
    },
    {
      usage: 'remove <provider/rule>',
      summary: 'delete a rule, and revoke its access tokens',
      result: fieldsNamed('rule'),
      async call(called) {
        await called.baton.identity.identityProviders.deleteWorkloadRule(...pathOf(called));
        return { rule: called.args[0] ?? '' };
      },
      says: ({ rule }) => `Rule ${String(rule)} is deleted, and its access tokens are revoked.`,
    },
  ],
};

async function addRule(called: Called): Promise<identity.WorkloadRule> {
  const { args, baton, options } = called;
  const tenant = resolveTenant(called);
  const name = options['preset'];
  if (typeof name !== 'string')
    throw new PlainError('--preset names the platform: github, gitlab, kubernetes or spiffe.', {
      exitCode: exitCodes.usage,
    });
  const preset = await readPreset(name, options, called.environment);
  const principalId = await findIdentityPrincipalId(called, args[0] ?? '');
  const provider = await providerOf(called, tenant, name, preset.issuer);
  return baton.identity.identityProviders.createWorkloadRule(tenant, provider, {
    key: typeof options['rule'] === 'string' ? options['rule'] : preset.ruleKey,
    principalId,
    claims: preset.claims,
    audiences: ['control-plane'],
    scopeCeiling: options['readOnly'] === true ? usualScopes.slice(0, 1) : usualScopes,
    singleUse: options['singleUse'] === true,
  });
}

/** The provider of the issuer. It is registered with the first rule, with the audience that clients request. */
async function providerOf(
  { access, baton, options }: Called,
  tenant: string,
  preset: string,
  issuer: string,
): Promise<string> {
  const { identityProviders } = baton.identity;
  const keySet = typeof options['keys'] === 'string' ? await readKeySet(options['keys']) : undefined;
  const wanted = issuer.replace(/\/+$/, '');
  const known = await identityProviders.list(tenant);
  const found = known.find((provider) => provider.issuer === wanted);
  if (found !== undefined) {
    if (keySet !== undefined) await identityProviders.update(tenant, found.key, { keySet });
    return found.key;
  }
  const taken = new Set(known.map(({ key }) => key));
  const key = [preset, ...Array.from({ length: taken.size }, (_, at) => `${preset}-${at + 2}`)].find(
    (one) => !taken.has(one),
  );
  const { audience } = options;
  const created = await identityProviders.create(tenant, {
    key: key ?? preset,
    issuer,
    audience: typeof audience === 'string' ? audience : publicAddressOf(access),
    principalKind: 'none',
    ...(keySet !== undefined && { keySet }),
  });
  return created.key;
}

/** The address that BATON_URL has in pipelines; this machine may reach Baton at a different one. */
function publicAddressOf({ issuer, identityUrl }: Access): string {
  return (issuer ?? identityUrl).replace(/\/iam$/, '');
}

function addedText({ identityProvider, key, principalId, claims }: Item): string {
  const rule = `${String(identityProvider)}/${String(key)}`;
  return [
    `Rule ${rule} lets tokens with ${JSON.stringify(claims)} act as ${String(principalId)}.`,
    `docs/workload-identity has the file for your pipeline; ${invocation()} workload remove ${rule} ends it.`,
  ].join('\n');
}

/** `github/release` */
function pathOf(called: Called): [tenant: string, provider: string, rule: string] {
  const [provider = '', rule = '', ...more] = (called.args[0] ?? '').split('/');
  if (provider === '' || rule === '' || more.length > 0)
    throw new PlainError(
      `Name the rule as provider/rule, such as github/acme-shop; ${invocation()} workload list lists them.`,
      {
        exitCode: exitCodes.usage,
      },
    );
  return [resolveTenant(called), provider, rule];
}

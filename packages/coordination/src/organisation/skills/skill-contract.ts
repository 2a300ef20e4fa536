import { z } from 'zod';
import type { JsonObject } from '@baton/values/wire';
import { checkDocument, refuseSecretKeys, refuseSecretText } from '../../service/documents.ts';
import { permissionNames } from '../../service/permissions.ts';
import { checkStoredSchema } from '../../service/stored-schema.ts';
import { fail } from '../errors.ts';

/** Version 1 of a callable skill's contract. See docs/reference/skills.md#contract. */

/** Skills with other protocols can be assigned but never called. */
export const callableProtocols = ['mcp', 'http', 'local'] as const;
export type CallableProtocol = (typeof callableProtocols)[number];

const endpointCharactersMax = 2000;
const entrypointForms: Partial<Record<CallableProtocol, RegExp>> = {
  local: /^[A-Za-z0-9_./@-]{1,150}:[A-Za-z_][A-Za-z0-9_.]{0,100}$/,
  mcp: /^[!-~]{1,200}$/,
};

const schema = z.custom<JsonObject>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'must be a JSON Schema',
);

const Implementation = z.strictObject({
  protocol: z.enum(callableProtocols),
  endpoint: z.string().max(endpointCharactersMax).nullish(),
  entrypoint: z.string().max(251).nullish(),
  auth: z
    .looseObject({
      audience: z.string().min(1).max(200).nullish(),
      scopes: z.array(z.string().min(1).max(200)).max(20).nullish(),
    })
    .nullish(),
});

export const SkillContract = z.strictObject({
  inputs: schema,
  outputs: schema,
  implementation: Implementation,
  requiredPermissions: z.array(z.enum(permissionNames)).max(permissionNames.length).default([]),
  preconditions: z.array(z.unknown()).default([]),
  postconditions: z.array(z.unknown()).default([]),
  timeoutSeconds: z.int().min(1).max(3600).default(60),
  retryPolicy: z
    .strictObject({
      maxAttempts: z.int().min(1).max(10).default(1),
      backoffSeconds: z.int().min(0).max(3600).default(0),
    })
    .default({ maxAttempts: 1, backoffSeconds: 0 }),
  idempotency: z.enum(['required', 'natural', 'none']).default('none'),
  costModel: z.strictObject({ unit: z.string().min(1).max(50), estimate: z.number().min(0) }).nullish(),
});
export type SkillContract = z.output<typeof SkillContract>;

/**
 * Parses the contract of a new skill, except its two schemas.
 * @param sideEffects the side effects of the skill
 * @throws Refusal `invalid_document`, `payload_too_large`, `payload_too_deep`, `invalid_skill_contract` with `field`,
 * `unsupported_skill_condition`
 */
export function parseContract(
  document: unknown,
  { sideEffects, riskLevel }: { sideEffects: string | null; riskLevel: string | null },
): SkillContract {
  checkDocument(document, { field: 'contract' });
  const { data: contract, error } = SkillContract.safeParse(document);
  if (contract === undefined) return refuseField(error);
  for (const list of ['preconditions', 'postconditions'] as const)
    if (contract[list].length > 0) fail('unsupported_skill_condition', { field: `contract.${list}` });
  refuseImplementation(contract.implementation);
  const absent = sideEffects === null ? 'sideEffects' : riskLevel === null ? 'riskLevel' : undefined;
  if (absent !== undefined) fail('invalid_skill_contract', { field: absent, message: 'is missing' });
  const { idempotency, retryPolicy } = contract;
  if (sideEffects === 'external_write' && idempotency === 'none' && retryPolicy.maxAttempts > 1)
    fail('invalid_skill_contract', {
      field: 'contract.retryPolicy.maxAttempts',
      message: 'must be 1 for external_write without idempotency',
    });
  return contract;
}

/** @throws Refusal those of stored schemas, `secret_material_rejected` */
export function checkContractSchemas({ inputs, outputs, implementation }: SkillContract): void {
  checkStoredSchema(inputs, { field: 'contract.inputs' });
  checkStoredSchema(outputs, { field: 'contract.outputs' });
  const { endpoint, auth } = implementation;
  if (endpoint != null) refuseSecretText(endpoint, 'contract.implementation.endpoint');
  if (auth == null) return;
  refuseSecretKeys(auth as JsonObject, 'contract.implementation.auth');
  refuseSecretText(JSON.stringify(auth), 'contract.implementation.auth');
}

function refuseField(error: z.ZodError): never {
  const [fault] = error.issues;
  const path = fault?.code === 'unrecognized_keys' ? [...fault.path, ...fault.keys.slice(0, 1)] : fault?.path;
  const field = ['contract', ...(path ?? []).map(String)].join('.').slice(0, 200).toWellFormed();
  return fail('invalid_skill_contract', { field, message: fault?.message });
}

function refuseImplementation({ protocol, endpoint, entrypoint }: SkillContract['implementation']): void {
  const refuse = (name: string, message: string) =>
    fail('invalid_skill_contract', { field: `contract.implementation.${name}`, message });
  if (endpoint == null && protocol === 'http') refuse('endpoint', 'is missing');
  if (endpoint != null) checkEndpoint(protocol, endpoint, 'contract.implementation.endpoint');
  const form = entrypointForms[protocol];
  if (form === undefined && entrypoint != null) refuse('entrypoint', 'is for local and mcp');
  if (form !== undefined && entrypoint == null) refuse('entrypoint', 'is missing');
  if (form !== undefined && !form.test(entrypoint ?? ''))
    refuse('entrypoint', protocol === 'local' ? 'must be module:function' : 'must be the name of a tool');
}

/** @throws Refusal `invalid_skill_contract` */
export function checkEndpoint(protocol: string, endpoint: string, field: string): void {
  if (protocol !== 'http' && protocol !== 'mcp')
    fail('invalid_skill_contract', { field, message: 'is for http and mcp' });
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  const isAddress =
    url !== undefined && /^https?:$/.test(url.protocol) && url.username + url.password + url.hash === '';
  if (!isAddress || endpoint.length > endpointCharactersMax)
    fail('invalid_skill_contract', { field, message: 'must be an address of http or https without user' });
}

/** The executors that can run a call: protocol, target and audience name its queue. */
export function routeOf({ implementation }: Pick<SkillContract, 'implementation'>) {
  const { protocol, endpoint, entrypoint, auth } = implementation;
  const origin = endpoint == null ? '' : new URL(endpoint).origin;
  return { target: protocol === 'local' ? (entrypoint ?? '') : origin, audience: auth?.audience ?? '' };
}

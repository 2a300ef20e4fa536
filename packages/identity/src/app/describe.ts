import { z } from 'zod';
import { envelopeAt, InvalidRequest, Refusal, UnstorableText } from '@baton/kernel/http/refusal';
import type { Operation } from '@baton/kernel/http/service';
import { openApi, type RefusalForm } from '@baton/kernel/openapi/openapi';
import { errors } from '../provisioning/errors.ts';
import { isOpenToAdministrators } from './administration-scope.ts';
import { sections } from './endpoints.ts';
import { errorRenderer, standardEnvelopes } from './error-envelopes.ts';
import { pipelineCodesOf } from './runtime.ts';

const Problem = z
  .strictObject({
    type: z.string(),
    loc: z
      .array(z.union([z.string(), z.int()]))
      .meta({ description: 'The location, starting with `body`, `query`, `path` or `header`.' }),
    msg: z.string().meta({ description: 'A message for people, which never repeats the value.' }),
  })
  .meta({ id: 'Problem' });

const docs = z
  .string()
  .optional()
  .meta({ description: 'The page that describes the code, if the operator has set its address.' });

const ErrorEnvelope = z
  .strictObject({
    detail: z.union([z.string().meta({ description: 'Stable; react to it.' }), z.array(Problem)]),
    field: z
      .string()
      .optional()
      .meta({ description: 'The field of the body that is refused, for some codes.' }),
    docs,
  })
  .meta({ id: 'Error' });

/** RFC 7644, section 3.12. */
const ScimErrorEnvelope = z
  .strictObject({
    schemas: z.array(z.string()),
    status: z.string(),
    scimType: z.string().optional(),
    detail: z.string(),
  })
  .meta({ id: 'ScimError' });

/** RFC 6749, section 5.2. */
const OauthErrorEnvelope = z.strictObject({ error: z.string(), error_uri: docs }).meta({ id: 'OauthError' });

const errorForms = { Error: ErrorEnvelope, ScimError: ScimErrorEnvelope, OauthError: OauthErrorEnvelope };

/** The OpenAPI description of identity. */
export function describeApi(): object {
  return openApi(
    {
      title: 'IAM Service',
      version: '0.2.0',
      description:
        'Tenants, principals and credentials; exchanges a credential for a short-lived access token for one audience.',
      basePath: '/api/v1',
      errors,
      error: ErrorEnvelope,
      refusalOf,
      securitySchemes: {
        adminToken: {
          type: 'apiKey',
          in: 'header',
          name: 'X-IAM-Bootstrap-Token',
          description: 'The admin secret (IAM_BOOTSTRAP_TOKEN).',
        },
        administrationToken: {
          type: 'http',
          scheme: 'bearer',
          description: 'An administration token of a person: `iam_adm_…`.',
        },
        delegationCredential: {
          type: 'http',
          scheme: 'bearer',
          description: 'The service credential of coordination (IAM_DELEGATION_CREDENTIAL_FILE).',
        },
        provisioningToken: {
          type: 'http',
          scheme: 'bearer',
          description: 'An access token of the SCIM audience, or a provisioning token of a source.',
        },
      },
      securityOf,
      pipelineCodesOf,
    },
    sections,
  );
}

function securityOf(endpoint: Operation): readonly string[] {
  const { auth } = endpoint;
  if (auth === undefined)
    return isOpenToAdministrators(endpoint) ? ['adminToken', 'administrationToken'] : ['adminToken'];
  if (auth === 'provisioning') return ['provisioningToken'];
  return auth === 'delegation' ? ['delegationCredential'] : [];
}

/** The response of this service for a code. */
function refusalOf(endpoint: Operation, code: string): RefusalForm {
  const envelope = envelopeAt(standardEnvelopes(), endpoint.path);
  const render = envelope?.render ?? errorRenderer();
  const { status, headers } = render(failureOf(endpoint, code), '');
  const schema = envelope?.schema ?? 'Error';
  return { status, error: errorForms[schema], mediaType: headers?.['content-type'] ?? 'application/json' };
}

function failureOf({ auth }: Operation, code: string): Error {
  if (code === 'invalid_request') return new InvalidRequest([]);
  if (code === 'validation_error') return new UnstorableText('', 'nul_character');
  if (code === 'internal_error') return new Error(code);
  // Here the code is about the issuer of an upstream token, not of a registration.
  const isOfToken = code === 'invalid_issuer' && auth === 'presented';
  return new Refusal(code, {}, isOfToken ? { status: 401 } : {});
}

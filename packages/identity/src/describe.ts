import { openApi } from '@baton/kernel/openapi';
import { z } from 'zod';
import { endpoints } from './endpoints.ts';
import { errors } from './errors.ts';
import { pipelineCodesOf } from './runtime.ts';

const ErrorEnvelope = z.strictObject({
  detail: z.union([
    z.string().meta({ description: 'Stable; react to it.' }),
    z.array(
      z.strictObject({
        type: z.string(),
        loc: z
          .array(z.union([z.string(), z.int()]))
          .meta({ description: 'Where, from `body`, `query`, `path` or `header` on.' }),
        msg: z.string().meta({ description: 'For people. It never repeats what was sent.' }),
      }),
    ),
  ]),
});

/** The OpenAPI description of identity. */
export function describeApi(): object {
  return openApi(
    {
      title: 'IAM Service',
      version: '0.1.0',
      description:
        'Tenants, principals and credentials; exchanges a credential for a short-lived access token of one audience.',
      basePath: '/api/v1',
      errors,
      errorSchema: ErrorEnvelope,
      securitySchemes: {
        adminToken: {
          type: 'apiKey',
          in: 'header',
          name: 'X-IAM-Bootstrap-Token',
          description: 'The admin secret (IAM_BOOTSTRAP_TOKEN).',
        },
        provisioningToken: {
          type: 'http',
          scheme: 'bearer',
          description: 'An access token of the SCIM audience, or a provisioning token of a source.',
        },
      },
      securityOf: ({ auth }) =>
        auth === undefined ? 'adminToken' : auth === 'provisioning' ? 'provisioningToken' : undefined,
      pipelineCodesOf,
    },
    endpoints,
  );
}

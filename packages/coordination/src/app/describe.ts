import { z } from 'zod';
import { openApi } from '@baton/kernel/openapi/openapi';
import { sections } from './endpoints.ts';
import { errors } from './errors.ts';
import { pipelineCodesOf } from './runtime.ts';

const ErrorEnvelope = z
  .strictObject({
    error: z.strictObject({
      code: z.string().meta({ description: 'Stable; handle errors by it.' }),
      message: z.string().meta({ description: 'Human-readable; do not parse it.' }),
      details: z.record(z.string(), z.unknown()),
      requestId: z.string(),
      docs: z.string().optional().meta({
        description: 'The page that describes the code, if the operator has configured its address.',
      }),
    }),
  })
  .meta({ id: 'Error' });

/** The OpenAPI description of coordination. */
export function describeApi(): object {
  return openApi(
    {
      title: 'Baton coordination',
      version: '0.2.0',
      description: 'Tasks under exclusive, fenced leases, runs, and an append-only journal of every change.',
      basePath: '/api/v1',
      errors,
      error: ErrorEnvelope,
      securitySchemes: {
        accessToken: {
          type: 'http',
          scheme: 'bearer',
          description: 'An access token of identity for this audience.',
        },
        bootstrapSecret: { type: 'http', scheme: 'bearer', description: 'The bootstrap secret.' },
      },
      securityOf: ({ auth }) =>
        auth === undefined ? ['accessToken'] : auth === 'bootstrap' ? ['bootstrapSecret'] : [],
      pipelineCodesOf,
    },
    sections,
  );
}

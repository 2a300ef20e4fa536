import { describeApi as describeCoordination } from '@baton/coordination/app/describe';
import { endpoints as coordinationEndpoints } from '@baton/coordination/app/endpoints';
import { errors as coordinationErrors } from '@baton/coordination/app/errors';
import { describeEvents as describeCoordinationEvents } from '@baton/coordination/app/event-types/async-api';
import { pipelineCodesOf as coordinationPipelineCodesOf } from '@baton/coordination/app/runtime';
import { settings as coordinationSettings } from '@baton/coordination/app/settings';
import { permissions } from '@baton/coordination/service/permissions';
import { describeApi as describeIdentity } from '@baton/identity/app/describe';
import { endpoints as identityEndpoints } from '@baton/identity/app/endpoints';
import { pipelineCodesOf as identityPipelineCodesOf } from '@baton/identity/app/runtime';
import { settings as identitySettings } from '@baton/identity/app/settings';
import { errors as identityErrors } from '@baton/identity/provisioning/errors';
import type { ErrorTable } from '@baton/kernel/http/refusal';
import type { Operation } from '@baton/kernel/http/service';
import type { SettingTable } from '@baton/kernel/process/config';

/** The declarations of a service, for the generated files and the truth test. */
export interface Service {
  readonly name: 'identity' | 'coordination';
  /** The service's purpose, in one sentence. */
  readonly purpose: string;
  readonly endpoints: readonly Operation[];
  readonly errors: ErrorTable;
  readonly settings: SettingTable;
  /** Permissions with their meaning; empty if only the administrator calls. */
  readonly permissions: Readonly<Record<string, string>>;
  /** How a caller authenticates, by the `auth` of an endpoint; `usual` by default. */
  readonly credentials: Readonly<Record<string, string>>;
  describeApi(): object;
  /** The AsyncAPI description, if the service sends events. */
  describeEvents?(): object;
  /** The error codes that the steps before the handler may return at this endpoint. */
  pipelineCodesOf(endpoint: Operation): readonly string[];
}

export const services: readonly Service[] = [
  {
    name: 'identity',
    purpose: 'Identity knows people, agents and services, and issues short-lived access tokens to them.',
    endpoints: identityEndpoints,
    errors: identityErrors,
    settings: identitySettings,
    permissions: {},
    credentials: {
      usual: 'the admin secret',
      delegation: 'the service credential of coordination',
      presented: 'a credential in the body',
      provisioning: 'a provisioning token, or an access token for SCIM',
      none: 'none',
    },
    describeApi: describeIdentity,
    pipelineCodesOf: identityPipelineCodesOf,
  },
  {
    name: 'coordination',
    purpose: 'Coordination assigns tasks under exclusive leases and writes every change to a journal.',
    endpoints: coordinationEndpoints,
    errors: coordinationErrors,
    settings: coordinationSettings,
    permissions,
    credentials: { usual: 'an access token', bootstrap: 'the bootstrap secret', none: 'none' },
    describeApi: describeCoordination,
    describeEvents: describeCoordinationEvents,
    pipelineCodesOf: coordinationPipelineCodesOf,
  },
];

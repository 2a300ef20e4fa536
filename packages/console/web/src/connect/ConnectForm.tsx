import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import {
  buildSnippet,
  type ConnectClient,
  ConnectRefusal,
  type ConnectRequest,
  cancelConnection,
  connectAgent,
  connectClientNames,
  connectClients,
  isMcpClient,
} from '@baton/sdk/connect';
import type { Administration } from '../administration/admin-secret.ts';
import { readValues } from '../administration/Section.tsx';
import { baton } from '../client.ts';
import { Field, SelectField } from '../parts/Field.tsx';
import { Form } from '../parts/Form.tsx';
import { ErrorNote } from '../parts/Notes.tsx';
import { workspacesQuery } from '../work/workspaces.ts';
import type { Issued } from './ConnectDialog.tsx';
import styles from './connect.module.css';
import { findMcpServer } from './mcp-server.ts';
import { rolesQuery } from './roles.ts';

const daySeconds = 86_400;
const lifetimes = [30, 90, 365];
const usualDays = 90;
const usualRole = 'member';

/** The fields of the form by path in the requests that connect an agent, and by error code. */
const requestFields = {
  displayName: 'name',
  'spec.displayName': 'name',
  key: 'name',
  accessRole: 'role',
  'spec.identity.permissions': 'role',
  workspaceId: 'workspace',
  'spec.work': 'workspace',
  expiresInSeconds: 'days',
};
const requestCodes = {
  permission_escalation: 'role',
  permissions_not_allowed_for_kind: 'role',
  expiry_too_long: 'days',
};

interface Values extends ConnectRequest {
  readonly exec: string | undefined;
}

interface ConnectFormProps {
  readonly administration: Administration;
  onIssued(issued: Issued): void;
  onClose(): void;
}

/** What is connected, under which name and with which rights. */
export function ConnectForm({ administration, onIssued, onClose }: ConnectFormProps) {
  const queries = useQueryClient();
  const [client, setClient] = useState<ConnectClient>('claude-code');
  const roles = useQuery(rolesQuery);
  const [roleKey, setRoleKey] = useState(usualRole);
  const role = roles.data?.find(({ key }) => key === roleKey) ?? roles.data?.[0];
  const workspaces = useQuery(workspacesQuery).data?.filter(({ status }) => status === 'active') ?? [];
  const stopping = useRef<AbortController>(undefined);
  useEffect(() => () => stopping.current?.abort(), []);

  const connect = useMutation({
    // The response contains the token, so it must not enter the mutation cache.
    mutationFn: async ({ exec, ...request }: Values): Promise<void> => {
      stopping.current = new AbortController();
      const { signal } = stopping.current;
      const services = { baton, administration };
      const stdio = await findMcpServer(signal);
      const connection = await connectAgent(services, { ...request, signal });
      // The dialog has been closed in the meantime, so nobody sees the token.
      if (signal.aborted) return cancelConnection(services, connection);
      const { token, key } = connection;
      const values = { url: location.origin, token, agentKey: key, exec, workspace: request.workspaceId };
      onIssued({ connection, snippet: buildSnippet(request.client, { ...values, stdio }) });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['people'] }),
  });

  function onSubmit(form: HTMLFormElement) {
    const { text } = readValues(form);
    connect.mutate({
      client,
      name: text('name'),
      accessRole: role?.key ?? usualRole,
      workspaceId: text('workspace') || undefined,
      lifetimeSeconds: Number(text('days')) * daySeconds,
      exec: text('exec') || undefined,
    });
  }

  return (
    <Form
      error={connect.error}
      fields={requestFields}
      codes={requestCodes}
      note={(error) => (
        <Failure
          error={error}
          onReplace={() => connect.variables && connect.mutate({ ...connect.variables, replaces: true })}
        />
      )}
      onSubmit={onSubmit}
    >
      <SelectField
        label="Client"
        value={client}
        autoFocus
        onChange={({ target }) => setClient(target.value as ConnectClient)}
      >
        {connectClientNames.map((name) => (
          <option key={name} value={name}>
            {connectClients[name]}
          </option>
        ))}
      </SelectField>
      <Field
        name="name"
        label="Name"
        required
        maxLength={200}
        placeholder={`${isMcpClient(client) && client !== 'mcp' ? connectClients[client] : 'Helper'} of Maria`}
      />
      {client === 'command' && (
        <Field
          name="exec"
          label="Command for each task"
          className="mono"
          required
          maxLength={2000}
          placeholder="./work.sh"
        />
      )}
      <SelectField
        name="role"
        label="Access role"
        value={role?.key ?? usualRole}
        onChange={({ target }) => setRoleKey(target.value)}
      >
        {(roles.data ?? []).map(({ key, name }) => (
          <option key={key} value={key}>
            {name}
          </option>
        ))}
      </SelectField>
      {role !== undefined && (
        <details className="soft">
          <summary>What the agent may do</summary>
          <ul className={styles.allows}>
            {role.allows.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </details>
      )}
      <SelectField name="workspace" label="Workspace" defaultValue="">
        <option value="">Any</option>
        {workspaces.map((workspace) => (
          <option key={workspace.id} value={workspace.id}>
            {workspace.name}
          </option>
        ))}
      </SelectField>
      <SelectField name="days" label="Token expires after" defaultValue={usualDays}>
        {lifetimes.map((days) => (
          <option key={days} value={days}>
            {days} days
          </option>
        ))}
      </SelectField>
      {roles.isError && <ErrorNote error={roles.error} onRetry={() => void roles.refetch()} />}
      <div className="row">
        <button type="submit" className="primary" disabled={connect.isPending || role === undefined}>
          {connect.isPending ? 'Connecting …' : 'Connect'}
        </button>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </Form>
  );
}

function Failure({ error, onReplace }: { error: unknown; onReplace: () => void }) {
  if (!(error instanceof ConnectRefusal)) return <ErrorNote error={error} />;
  return (
    <div className={`stack ${styles.refusal}`} role="alert">
      <p>{error.message}</p>
      {error.code === 'agent_connected' && (
        <button type="button" onClick={onReplace}>
          Replace the token
        </button>
      )}
    </div>
  );
}

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useEffect, useId, useRef, useState } from 'react';
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
import { baton } from '../client.ts';
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
  const id = useId();
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

  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? '').trim();
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
    <form className="stack" onSubmit={onSubmit}>
      <label className="stack" htmlFor={`${id}-client`}>
        Client
        <select
          id={`${id}-client`}
          value={client}
          autoFocus
          onChange={({ target }) => setClient(target.value as ConnectClient)}
        >
          {connectClientNames.map((name) => (
            <option key={name} value={name}>
              {connectClients[name]}
            </option>
          ))}
        </select>
      </label>
      <label className="stack" htmlFor={`${id}-name`}>
        Name
        <input
          id={`${id}-name`}
          name="name"
          required
          maxLength={200}
          placeholder={`${isMcpClient(client) && client !== 'mcp' ? connectClients[client] : 'Helper'} of Maria`}
          autoComplete="off"
        />
      </label>
      {client === 'command' && (
        <label className="stack" htmlFor={`${id}-exec`}>
          Command for each task
          <input
            id={`${id}-exec`}
            name="exec"
            className="mono"
            required
            maxLength={2000}
            placeholder="./work.sh"
            autoComplete="off"
            spellCheck={false}
          />
        </label>
      )}
      <label className="stack" htmlFor={`${id}-role`}>
        Access role
        <select
          id={`${id}-role`}
          value={role?.key ?? usualRole}
          onChange={({ target }) => setRoleKey(target.value)}
        >
          {(roles.data ?? []).map(({ key, name }) => (
            <option key={key} value={key}>
              {name}
            </option>
          ))}
        </select>
      </label>
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
      <label className="stack" htmlFor={`${id}-workspace`}>
        Workspace
        <select id={`${id}-workspace`} name="workspace" defaultValue="">
          <option value="">Any</option>
          {workspaces.map((workspace) => (
            <option key={workspace.id} value={workspace.id}>
              {workspace.name}
            </option>
          ))}
        </select>
      </label>
      <label className="stack" htmlFor={`${id}-days`}>
        Token expires after
        <select id={`${id}-days`} name="days" defaultValue={usualDays}>
          {lifetimes.map((days) => (
            <option key={days} value={days}>
              {days} days
            </option>
          ))}
        </select>
      </label>
      {roles.isError && <ErrorNote error={roles.error} onRetry={() => void roles.refetch()} />}
      {connect.isError && (
        <Failure
          error={connect.error}
          onReplace={() => connect.variables && connect.mutate({ ...connect.variables, replaces: true })}
        />
      )}
      <div className="row">
        <button type="submit" className="primary" disabled={connect.isPending || role === undefined}>
          {connect.isPending ? 'Connecting …' : 'Connect'}
        </button>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </form>
  );
}

function Failure({ error, onReplace }: { error: Error; onReplace: () => void }) {
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

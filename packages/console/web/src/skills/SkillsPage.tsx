import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import type { Skill } from '@baton/sdk';
import { baton } from '../client.ts';
import { Allowed } from '../parts/Allowed.tsx';
import { AllowedPart } from '../parts/AllowedPart.tsx';
import { useLineKeys } from '../parts/line-keys.ts';
import { Moment } from '../parts/Moment.tsx';
import { Empty, ErrorNote, Loading } from '../parts/Notes.tsx';
import { ShowMore } from '../parts/ShowMore.tsx';
import { Values } from '../parts/Values.tsx';
import lines from '../parts/values.module.css';
import styles from './skills.module.css';

const pageSize = 50;
const toolsMax = 100;
const agentsMax = 100;

/** Skills with their versions, the person's own tools, and the registered agents. */
export function SkillsPage() {
  useLineKeys();
  return (
    <div className="page">
      <h1>Skills and tools</h1>
      <Allowed permission="org.read">
        <Skills />
      </Allowed>
      <AllowedPart permission="tasks.read" what="Your tools">
        <Tools />
      </AllowedPart>
      <AllowedPart permission="agents.read" what="Registered agents">
        <Agents />
      </AllowedPart>
    </div>
  );
}

function Skills() {
  const query = useInfiniteQuery({
    queryKey: ['skills', 'list'],
    queryFn: ({ pageParam, signal }) =>
      baton.skills.list({ limit: pageSize, ...(pageParam && { cursor: pageParam }) }, { signal }),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    select: ({ pages }) => pages.flatMap(({ items }) => items),
  });
  return (
    <section className="card stack" aria-labelledby="skills">
      <h2 id="skills">Skills</h2>
      {query.isError && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Loading />}
      {query.data?.length === 0 && (
        <Empty title="No skills yet">
          <p>
            Tasks can require a skill, and agents can invoke it. Create one with{' '}
            <code className="mono">baton api POST /skills --input skill.json</code>.
          </p>
        </Empty>
      )}
      <ul className="stack">
        {query.data?.map((skill) => (
          <li key={skill.id}>
            <OneSkill skill={skill} />
          </li>
        ))}
      </ul>
      <ShowMore query={query} />
    </section>
  );
}

function OneSkill({ skill }: { skill: Skill }) {
  const { name, version, status, protocol, description, sideEffects, riskLevel, updatedAt } = skill;
  const { contract, inputSchema, outputSchema } = skill;
  return (
    <details className={styles.skill}>
      <summary>
        <span className={styles.name}>{name}</span> <span className="soft">{version}</span>{' '}
        <span className={status === 'active' ? 'soft' : styles.off}>{status}</span>{' '}
        <span className="soft">{protocol}</span>
      </summary>
      <div className={`stack ${styles.inside}`}>
        {description !== '' && <p className="text">{description}</p>}
        <Values
          of={{
            'side effects': sideEffects,
            risk: riskLevel,
            inputs: inputSchema,
            outputs: outputSchema,
            contract,
          }}
        />
        <p className="soft">
          updated <Moment at={updatedAt} />
        </p>
      </div>
    </details>
  );
}

const reasons: Readonly<Record<string, string>> = {
  not_assigned: 'not assigned to you',
  skill_disabled: 'disabled',
  protocol_not_allowed_by_governance: 'not allowed by the project',
};

function Tools() {
  const query = useQuery({
    queryKey: ['skills', 'tools'],
    queryFn: ({ signal }) => baton.tools.list({ limit: toolsMax }, { signal }).then(({ items }) => items),
  });
  return (
    <section className="card stack" aria-labelledby="tools">
      <h2 id="tools">Your tools</h2>
      {query.isError && <ErrorNote error={query.error} />}
      {query.data?.length === 0 && <p className="soft">No skills are assigned to you.</p>}
      <ul className={lines.list}>
        {query.data?.map(({ id, name, version, summary, visible, reason }) => (
          <li key={id} className={lines.line}>
            <span>
              {name} <span className="soft">{version}</span>
            </span>
            <span className="soft">{summary}</span>
            <span className="soft">
              {visible ? 'available' : (reasons[reason] ?? reason.replaceAll('_', ' '))}
            </span>
            <span />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Agents() {
  const query = useQuery({
    queryKey: ['skills', 'agents'],
    queryFn: ({ signal }) => baton.agents.list({ limit: agentsMax }, { signal }).then(({ items }) => items),
  });
  return (
    <section className="card stack" aria-labelledby="agents">
      <h2 id="agents">Registered agents</h2>
      {query.isError && <ErrorNote error={query.error} />}
      {query.data?.length === 0 && (
        <p className="soft">
          No agents. Register one with <code className="mono">baton apply -f agent.yaml</code>.
        </p>
      )}
      <ul className={lines.list}>
        {query.data?.map(({ id, key, displayName, status, state, replicas, currentRevision, updatedAt }) => (
          <li key={id} className={lines.line}>
            <span>
              {displayName || key} <span className="soft mono">{key}</span>
            </span>
            <span className="soft">revision {currentRevision}</span>
            <span className="soft">
              {status === 'retired' ? 'retired' : state}
              {replicas > 0 && ` · ${replicas}`}
            </span>
            <span className="soft">
              <Moment at={updatedAt} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

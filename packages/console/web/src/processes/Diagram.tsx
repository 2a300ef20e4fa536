import styles from './processes.module.css';
import type { Stage, Step } from './steps.ts';

/** More steps than this would make the graph illegible; the list below shows all of them. */
const stepsMax = 60;
const box = { width: 168, height: 44, down: 18, across: 56 };
const head = 30;
const charactersMax = 22;

/**
 * The progress of a process, stages from left to right. Hidden from screen readers; the list below has the same
 * content.
 */
export function Diagram({ stages }: { stages: readonly Stage[] }) {
  const count = stages.reduce((sum, { steps }) => sum + steps.length, 0);
  if (count === 0 || count > stepsMax) return null;
  const width = stages.length * (box.width + box.across) - box.across + 2;
  const rows = Math.max(...stages.map(({ steps }) => steps.length), 1);
  const height = head + rows * (box.height + box.down) - box.down + 2;
  const leftOf = (column: number) => column * (box.width + box.across) + 1;
  const topOf = (row: number) => head + row * (box.height + box.down);
  return (
    <div className={styles.diagram} role="region" aria-label="Diagram of the process" tabIndex={0}>
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
        {stages.map((stage, column) => (
          <g key={stage.id}>
            <text x={leftOf(column)} y={16} className={styles.stageName}>
              {shortened(stage.id)}
            </text>
            {column > 0 && (
              <path
                d={`M ${leftOf(column) - box.across + 4} ${topOf(0) + box.height / 2} h ${box.across - 12} m -6 -5 l 7 5 l -7 5`}
                className={styles.edge}
              />
            )}
            {stage.steps.map((step, row) => (
              <g key={step.id}>
                {row > 0 && (
                  <path
                    d={`M ${leftOf(column) + box.width / 2} ${topOf(row) - box.down} v ${box.down}`}
                    className={styles.edge}
                  />
                )}
                <Box step={step} left={leftOf(column)} top={topOf(row)} />
              </g>
            ))}
          </g>
        ))}
      </svg>
    </div>
  );
}

function Box({ step: { id, kind, state }, left, top }: { step: Step; left: number; top: number }) {
  return (
    <g className={`${styles.step} ${styles[classOf(state)] ?? ''}`}>
      <rect x={left} y={top} width={box.width} height={box.height} rx={7} />
      <text x={left + 10} y={top + 19} className={styles.stepName}>
        {shortened(id)}
      </text>
      <text x={left + 10} y={top + 35}>
        {kind} · {state}
      </text>
    </g>
  );
}

/** The class name of a state. */
export const classOf = (state: string): string => state.replaceAll(' ', '');

function shortened(text: string): string {
  const letters = [...text];
  return letters.length <= charactersMax ? text : `${letters.slice(0, charactersMax - 1).join('')}…`;
}

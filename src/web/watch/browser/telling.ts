/** Says in words what went wrong; a screen reader reads it at once. */
export function tell(text: string): void {
  const problem = document.getElementById('problem') as HTMLElement;
  problem.textContent = text;
  problem.hidden = false;
}

/** Says something that stops nobody. */
export function note(text: string): void {
  (document.getElementById('note') as HTMLElement).textContent = text;
}

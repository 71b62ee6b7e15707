/** Shows an error as an alert, which screen readers announce immediately. */
export function showProblem(text: string): void {
  const problem = document.getElementById('problem') as HTMLElement;
  problem.textContent = text;
  problem.hidden = false;
}

export function showNote(text: string): void {
  (document.getElementById('note') as HTMLElement).textContent = text;
}

"""What can be wrong with each program of programs/: FAULTS[program][fault] = (actions, [(as it should be, as it is with the
fault), ...]). The texts are pieces of the program that occur once in it. The actions are those of gpuprof's remedies
(analyzer/remedy/actions.h) that ask for this very mend."""

PRECISION = "mix_precision use_tensor_cores"
WAIT = "read_rarely wait_less log_rarely find_wait remove_synchronize"
HOST = "move_host_work shorten_line run_less_between_launches do_at_once call_once"
WORKERS = "load_in_workers set_workers try_workers add_workers"
PIN = "pin_batches pin_both_ways pin_others copy_without_waiting overlap_copies upload_without_waiting"
OPTIMIZER = "fuse_optimizer update_by_lists"
SAMPLES = "make_samples_cheaper shorten_line"
UPLOAD = "upload_without_waiting copy_without_waiting overlap_copies pin_others make_on_gpu copy_less_to_gpu join_copies " + WAIT

READ = ("        total += loss.detach()\n", "        total += loss.item()\n")

FAULTS = {
    "pictures": {
        "no workers": (WORKERS, [("num_workers=2, persistent_workers=True", "num_workers=0")]),
        "workers anew": ("keep_workers create_loader_once use_fewer_workers " + WORKERS, [
            ("    for step, (x, y) in enumerate(loader):\n",
             "    for step, (x, y) in ((8 * k + i, b) for k in range(6) for i, b in zip(range(8), loader)):\n"),
            ("num_workers=2, persistent_workers=True", "num_workers=2")]),
        "not pinned": (PIN, [
            ("pin_memory=True, drop_last=True", "drop_last=True"),
            ('x.to("cuda", memory_format=torch.channels_last, non_blocking=True)', 'x.to("cuda", memory_format=torch.channels_last)'),
            ('y.to("cuda", non_blocking=True)', 'y.to("cuda")')]),
        "pixels one by one": (SAMPLES, [
            ("self.files[i % 64].astype(np.float32) / 255",
             "np.stack([[row.astype(np.float32) / 255 for row in plane] for plane in self.files[i % 64]])")]),
        "channels first": ("use_channels_last", [
            ('net.to("cuda", memory_format=torch.channels_last)', 'net.to("cuda")')]),
        "no search": ("measure_algorithms use_tensor_core_algorithm", [
            ("torch.backends.cudnn.benchmark = True\n", "torch.backends.cudnn.benchmark = False\n")]),
        "no autocast": (PRECISION, [("dtype=torch.bfloat16):", "enabled=False):")]),
        "reads the loss": (WAIT, [READ]),
        "counts on the CPU": (WAIT, [("(out.argmax(1) == y).sum()", "(out.argmax(1).cpu() == y.cpu()).sum()")]),
        "loop of updates": (OPTIMIZER, [("momentum=0.9, fused=True", "momentum=0.9, foreach=False")]),
        "empties the cache": ("allocate_once keep_memory_pool", [
            ("        optimizer.zero_grad()\n", "        torch.cuda.empty_cache()\n        optimizer.zero_grad()\n")]),
    },
    "text": {
        "attention by hand": ("fuse_attention", [
            ("        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)\n",
             "        scores = q @ k.transpose(-2, -1) / (WIDTH // HEADS) ** 0.5\n"
             '        mask = torch.tril(torch.ones(t, t, device="cuda"))\n'
             '        y = scores.masked_fill(mask == 0, float("-inf")).softmax(-1) @ v\n')]),
        "mask from the CPU": (UPLOAD, [
            ('torch.arange(CONTEXT, device="cuda")', 'torch.arange(CONTEXT).to("cuda")')]),
        "batches from the CPU": (UPLOAD + " " + PIN, [
            ('(64, CONTEXT + 1)).to("cuda")\n', "(64, CONTEXT + 1))\n"),
            ("data[step * BATCH % 64:][:BATCH]\n", 'data[step * BATCH % 64:][:BATCH].to("cuda")\n')]),
        "no autocast": (PRECISION, [("dtype=torch.bfloat16):", "enabled=False):")]),
        "clips one by one": ("clip_at_once do_at_once " + WAIT, [
            ("        nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n",
             "        norm = sum(p.grad.norm().item() ** 2 for p in model.parameters()) ** 0.5\n"
             "        for p in model.parameters():\n"
             "            p.grad.mul_(min(1.0, 1.0 / (norm + 1e-6)))\n")]),
        "fills gradients": ("overwrite_gradients", [("optimizer.zero_grad()", "optimizer.zero_grad(set_to_none=False)")]),
        "loop of updates": (OPTIMIZER, [("lr=3e-4, fused=True", "lr=3e-4, foreach=False")]),
        "computes again": ("keep_activations", [
            ("            x = block(x)\n", "            x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)\n")]),
        "reads the loss": (WAIT, [READ]),
        "waits for a time": (WAIT + " read_times_once", [
            ("        loss.backward()\n", "        torch.cuda.synchronize()\n        loss.backward()\n        torch.cuda.synchronize()\n")]),
        "collects garbage": ("freeze_garbage collect_garbage_rarely " + HOST, [
            ("        tokens = data[", "        gc.collect()\n        tokens = data["),
            ('lie on the GPU."""\nimport torch', 'lie on the GPU."""\nimport gc\n\nimport torch')]),
    },
    "table": {
        "float64": ("use_single_precision " + PRECISION, [
            ('from_numpy(rows).float().to("cuda")', 'from_numpy(rows).to("cuda")'),
            ('from_numpy(wanted).float().to("cuda")', 'from_numpy(wanted).to("cuda")'),
            ('nn.Linear(256, 1)).to("cuda")', 'nn.Linear(256, 1)).double().to("cuda")')]),
        "no graph": ("launch_as_graph compile_parts launch_fewer fuse_pointwise", [
            ('    model.compile(mode="reduce-overhead")\n    errors', "    errors")]),
        "loop of updates": (OPTIMIZER, [("lr=1e-3, fused=True", "lr=1e-3, foreach=False")]),
        "error on the CPU": (WAIT, [
            ("errors.append((out.detach() - y[rows_of]).abs().mean())",
             "errors.append((out.detach().cpu() - y[rows_of].cpu()).abs().mean())")]),
        "looks for errors": ("stop_anomaly_detection switch_debugging_off", [
            ("    torch.manual_seed(0)\n", "    torch.manual_seed(0)\n    torch.autograd.set_detect_anomaly(True)\n")]),
        "profiler left on": ("stop_tracing switch_debugging_off", [
            ("    with contextlib.nullcontext():\n", "    with torch.autograd.profiler.profile(use_device=None):\n")]),
        "rows from the CPU": (UPLOAD + " " + PIN, [
            ('from_numpy(rows).float().to("cuda")', "from_numpy(rows).float()"),
            ("model(x[rows_of])", 'model(x[rows_of].to("cuda"))')]),
        "fills gradients": ("overwrite_gradients", [("optimizer.zero_grad()", "optimizer.zero_grad(set_to_none=False)")]),
        "checks for NaN": (WAIT + " switch_debugging_off", [
            ("            optimizer.zero_grad()\n",
             "            if torch.isnan(loss):\n                break\n            optimizer.zero_grad()\n")]),
    },
    "sequence": {
        "padded to the longest": ("pad_to_longest", [("torch.zeros(len(samples), 80, dtype", "torch.zeros(len(samples), LONGEST, dtype")]),
        "no workers": (WORKERS, [("num_workers=1, persistent_workers=True", "num_workers=0")]),
        "not pinned": (PIN, [
            ("persistent_workers=True, pin_memory=True)", "persistent_workers=True)"),
            ('ids.to("cuda", non_blocking=True), labels.to("cuda", non_blocking=True)', 'ids.to("cuda"), labels.to("cuda")')]),
        "words one by one": (SAMPLES, [
            ("self.words[:self.lengths[i]].clone()", "torch.tensor([int(self.words[k]) for k in range(self.lengths[i])])")]),
        "cell by cell": ("do_at_once launch_as_graph launch_fewer fuse_pointwise use_library_kernels call_once " + HOST, [
            ("self.layer = nn.GRU(256, 256, batch_first=True)", "self.layer = nn.GRUCell(256, 256)"),
            ("        x, _ = self.layer(self.words(ids))\n        return self.out(x.mean(1))\n",
             "        x, h, all_h = self.words(ids), None, []\n        for t in range(x.shape[1]):\n            h = self.layer(x[:, t], h)\n"
             "            all_h.append(h)\n        return self.out(torch.stack(all_h, 1).mean(1))\n")]),
        "loss by sample": ("do_at_once " + HOST + " launch_as_graph", [
            ("        loss = F.cross_entropy(out, labels, weight=weights)\n",
             "        each = [F.cross_entropy(out[k:k + 1], labels[k:k + 1], reduction=\"none\") * weights[labels[k]] for k in range(BATCH)]\n"
             "        loss = torch.cat(each).sum() / weights[labels].sum()\n")]),
        "weights each step": (UPLOAD, [
            ("labels, weight=weights)\n", 'labels, weight=torch.tensor([1.0, 2.0, 1.0, 1.0, 1.0]).to("cuda"))\n')]),
        "loop of updates": (OPTIMIZER, [("lr=1e-3, fused=True", "lr=1e-3, foreach=False")]),
        "reads the loss": (WAIT, [READ]),
    },
    "denoise": {
        "average by a loop": ("write_update_by_lists do_at_once " + HOST, [
            ("        torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 0.001)\n",
             "        new = model.state_dict()\n        for name, kept in average.state_dict().items():\n"
             "            kept.copy_(kept * 0.999 + new[name] * 0.001)\n")]),
        "looks for errors": ("stop_anomaly_detection switch_debugging_off", [
            ("    torch.manual_seed(0)\n", "    torch.manual_seed(0)\n    torch.autograd.set_detect_anomaly(True)\n")]),
        "schedule on the CPU": (UPLOAD, [
            ('1000), dim=0).to("cuda")', "1000), dim=0)"), ("view(1, 1, 1, 1)", 'view(1, 1, 1, 1).to("cuda")')]),
        "noise from the CPU": (UPLOAD + " " + HOST, [
            ('torch.randn(BATCH, 3, 64, 64, device="cuda")', 'torch.randn(BATCH, 3, 64, 64).to("cuda")')]),
        "no search": ("measure_algorithms use_tensor_core_algorithm", [
            ("torch.backends.cudnn.benchmark = True\n", "torch.backends.cudnn.benchmark = False\n")]),
        "no autocast": (PRECISION, [("dtype=torch.bfloat16):", "enabled=False):")]),
        "saves often": ("move_rare_work " + HOST, [("if step % 30 == 29:", "if step % 2 == 1:")]),
        "loop of updates": (OPTIMIZER, [("lr=1e-4, fused=True", "lr=1e-4, foreach=False")]),
        "reads the loss": (WAIT, [("losses.append(loss.detach())", "losses.append(torch.tensor(loss.item()))")]),
        "prints each step": (WAIT, [("        losses.append(loss.detach())\n",
                                     '        losses.append(loss.detach())\n        print(f"{step}: {loss:.4f}")\n')]),
    },
    "clicks": {
        "a table each": ("do_at_once launch_as_graph launch_fewer " + HOST, [
            ("self.table = nn.Embedding(TABLES * 20000, 32)", "self.table = nn.ModuleList(nn.Embedding(20000, 32) for _ in range(TABLES))"),
            ("self.table(ids + self.first).flatten(1)", "torch.cat([t(ids[:, k]) for k, t in enumerate(self.table)], dim=1)")]),
        "batches from the CPU": (UPLOAD + " " + PIN, [
            ('dense, ids, clicks = dense.to("cuda"), ids.to("cuda"), clicks.to("cuda")\n', "pass\n"),
            ("model(x, i)\n", 'model(x.to("cuda"), i.to("cuda"))\n'), ("logits(out, y)\n", 'logits(out, y.to("cuda"))\n')]),
        "sample by sample": (SAMPLES + " " + HOST + " " + WORKERS, [
            ('dense, ids, clicks = dense.to("cuda"), ids.to("cuda"), clicks.to("cuda")\n', "pass\n"),
            ("    return dense[rows], ids[rows], clicks[rows]\n",
             "    some = [(dense[k], ids[k], clicks[k]) for k in range(rows.start, rows.stop)]\n"
             '    return tuple(torch.stack([s[n] for s in some]).to("cuda") for n in range(3))\n')]),
        "loop of updates": (OPTIMIZER, [("lr=0.01, foreach=True", "lr=0.01, foreach=False")]),
        "one thread": ("set_compute_threads", [("    torch.manual_seed(0)\n", "    torch.manual_seed(0)\n    torch.set_num_threads(1)\n")]),
        "reads the loss": (WAIT, [READ]),
        "counts on the CPU": (WAIT, [
            ("        total += loss", "        right = ((out > 0).float().cpu() == y.cpu()).float().mean()\n        total += loss")]),
        "keeps graphs": ("detach_state keep_results", [("loss.detach()\n", "loss\n")]),
        "fills gradients": ("overwrite_gradients", [("optimizer.zero_grad()", "optimizer.zero_grad(set_to_none=False)")]),
        "empties the cache": ("allocate_once keep_memory_pool", [
            ("        optimizer.zero_grad()\n", "        torch.cuda.empty_cache()\n        optimizer.zero_grad()\n")]),
    },
}

# The faults that the programs of examples/ have as they stand, in the same form.
EXAMPLES = {
    "diffusion": {
        "no workers": (WORKERS, [("drop_last=True, num_workers=1, persistent_workers=True)", "drop_last=True)")]),
        "loop of updates": (OPTIMIZER, [("lr=2e-4, fused=True)", "lr=2e-4)")]),
        "average by a loop": ("write_update_by_lists do_at_once " + HOST, [
            ("    torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 1 - decay)\n",
             "    for kept, new in zip(average.parameters(), model.parameters()):\n"
             "        kept.mul_(decay).add_(new, alpha=1 - decay)\n")]),
        "levels on the CPU": (UPLOAD, [
            ("0.02, steps), dim=0).cuda()", "0.02, steps), dim=0)"), ("(x.shape[0],), device=\"cuda\")", "(x.shape[0],))"),
            ("view(-1, 1, 1, 1)\n", "view(-1, 1, 1, 1).cuda()\n"), ("model(noisy, t)", "model(noisy, t.cuda())")]),
        "no search": ("measure_algorithms use_tensor_core_algorithm", [
            ("import DataLoader, TensorDataset\ntorch.backends.cudnn.benchmark = True\n", "import DataLoader, TensorDataset\n")]),
        "no autocast": (PRECISION, [
            ("            with torch.autocast(\"cuda\", dtype=torch.bfloat16):\n                loss = F.mse_loss(",
             "            loss = F.mse_loss(")]),
    },
    "resnet50": {
        "no workers": (WORKERS, [("shuffle=True, num_workers=2, persistent_workers=True)", "shuffle=True)")]),
        "not pinned": (PIN, [
            ("batch_size=options.batch, pin_memory=True,", "batch_size=options.batch,"),
            ("images.to(device, non_blocking=True), labels.to(device, non_blocking=True)", "images.to(device), labels.to(device)")]),
        "channels first": ("use_channels_last", [
            ("resnet50(num_classes=1000).to(device, memory_format=torch.channels_last)", "resnet50(num_classes=1000).to(device)")]),
        "no search": ("measure_algorithms use_tensor_core_algorithm", [
            ("models import resnet50\ntorch.backends.cudnn.benchmark = True\n", "models import resnet50\n")]),
        "no autocast": (PRECISION, [
            ("        with torch.autocast(\"cuda\", dtype=torch.bfloat16):\n            loss = criterion(", "        loss = criterion(")]),
        "loop of updates": (OPTIMIZER, [("weight_decay=1e-4, fused=True)", "weight_decay=1e-4)")]),
        "reads the loss": (WAIT, [("running += loss.detach()", "running += loss.item()")]),
    },
    "dlrm": {
        "no workers": (WORKERS, [("shuffle=True, num_workers=2, persistent_workers=True)", "shuffle=True)")]),
        "a copy for each table": (UPLOAD + " " + PIN, [
            ("        sparse = list(sparse.t().contiguous().to(device))\n",
             "        sparse = [sparse[:, i].contiguous().to(device) for i in range(sparse.shape[1])]\n")]),
        "loop of updates": (OPTIMIZER, [("lr=0.01, foreach=True)", "lr=0.01)")]),
        "reads the loss": (WAIT, [("total += loss.detach()", "total += loss.item()")]),
    },
}
